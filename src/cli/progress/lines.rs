//! Plain lines: one for each finished step, and with `--verbose` its output.

use std::collections::HashMap;

use super::{amount, ending, title};
use crate::cli::console::{visible_line, warn};
use crate::cli::env::Env;
use crate::engine::{BuildEvent, Step};

/// Width of the column for the end of a step.
const ENDING: usize = 9;

/// Prints plain lines.
pub struct Lines {
    width: usize,
    verbose: bool,
    steps: HashMap<usize, Step>,
}

impl Lines {
    pub(super) fn new(width: usize, verbose: bool) -> Self {
        Self { width, verbose, steps: HashMap::new() }
    }

    pub(super) fn show(&mut self, env: &mut Env, event: &BuildEvent) {
        match event {
            BuildEvent::Context { files, bytes, .. } => {
                env.print(&format!("{:>ENDING$}  context: {}", "", amount(*files, *bytes)));
            }
            BuildEvent::UpToDate { files, bytes } => {
                env.print(&format!("{:>ENDING$}  up to date: {}", "", amount(*files, *bytes)));
            }
            BuildEvent::StepStarted(step) => {
                self.steps.insert(step.id, step.clone());
            }
            BuildEvent::StepLog { line, .. } if self.verbose => {
                env.print(&format!("{:>ENDING$}  | {line}", ""))
            }
            BuildEvent::StepDone { id, cached, duration } => {
                self.ended(env, *id, &ending(*cached, *duration))
            }
            BuildEvent::StepFailed { id, .. } => self.ended(env, *id, "failed"),
            BuildEvent::Warning(text) => warn(env, text),
            BuildEvent::StepLog { .. } | BuildEvent::StepProgress { .. } => {}
        }
    }

    fn ended(&mut self, env: &mut Env, id: usize, how: &str) {
        if let Some(step) = self.steps.remove(&id).filter(|step| !step.internal || self.verbose) {
            let title = title(&step, self.width.saturating_sub(ENDING + 2));
            env.print(&format!("{how:>ENDING$}  {}", visible_line(&title)));
        }
    }
}
