//! Lines that change in place: a spinner for each running step, a line for each finished step.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{amount, cut, ending, size, title};
use crate::cli::console::visible_line;
use crate::engine::{BuildEvent, Step};

/// Interval of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// Width of the column for the end of a step.
const ENDING: usize = 9;

/// Shows the progress on a terminal.
pub struct Terminal {
    width: usize,
    verbose: bool,
    bars: MultiProgress,
    steps: HashMap<usize, (Step, ProgressBar)>,
}

impl Terminal {
    pub(super) fn new(width: usize, verbose: bool) -> Self {
        Self { width, verbose, bars: MultiProgress::new(), steps: HashMap::new() }
    }

    pub(super) fn show(&mut self, event: &BuildEvent) {
        match event {
            BuildEvent::Context { files, bytes, .. } => {
                self.say("", &format!("context: {}", amount(*files, *bytes)))
            }
            BuildEvent::UpToDate { files, bytes } => {
                self.say("", &format!("up to date: {}", amount(*files, *bytes)));
            }
            BuildEvent::StepStarted(step) => self.started(step),
            BuildEvent::StepLog { id, line } if self.verbose => {
                let bar = self.steps.get(id).map(|(_, bar)| bar.clone());
                bar.inspect(|_| self.say("", &format!("| {line}")));
            }
            BuildEvent::StepLog { id, line } => self.note(*id, line),
            BuildEvent::StepProgress { id, current, total, .. } if *total > 0 => {
                self.note(*id, &format!("{} of {}", size(*current), size(*total)));
            }
            BuildEvent::StepDone { id, cached, duration } => self.ended(*id, &ending(*cached, *duration)),
            BuildEvent::StepFailed { id, .. } => self.ended(*id, "failed"),
            BuildEvent::Warning(text) => self.say("warning:", text),
            BuildEvent::StepProgress { .. } => {}
        }
    }

    /// Clears the spinners.
    pub(super) fn end(self) {
        self.steps.into_values().for_each(|(_, bar)| bar.finish_and_clear());
    }

    fn say(&self, what: &str, text: &str) {
        let text = cut(&visible_line(text), self.width.saturating_sub(ENDING + 3));
        self.bars.println(format!("{what:>ENDING$}  {text}")).ok();
    }

    fn started(&mut self, step: &Step) {
        let bar = self.bars.add(ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("{elapsed:>7} {spinner} {prefix} {wide_msg:.dim}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_prefix(visible_line(&title(step, self.width.saturating_sub(ENDING + 3))));
        bar.enable_steady_tick(TICK);
        self.steps.insert(step.id, (step.clone(), bar));
    }

    fn note(&self, id: usize, text: &str) {
        if let Some((_, bar)) = self.steps.get(&id) {
            bar.set_message(visible_line(text));
        }
    }

    fn ended(&mut self, id: usize, how: &str) {
        let Some((step, bar)) = self.steps.remove(&id) else { return };
        bar.finish_and_clear();
        if !step.internal || self.verbose {
            self.say(how, &title(&step, self.width.saturating_sub(ENDING + 3)));
        }
    }
}
