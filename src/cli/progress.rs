//! The progress of a build: a line per step that changes in place on a terminal, plain lines elsewhere, or JSON Lines.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::console::{count, visible_line, warn};
use super::env::Env;
use crate::engine::{BuildEvent, Step};

/// Interval of spinners.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Width of the column for the end of a step.
const ENDING: usize = 9;

/// Format of the progress output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Style {
    /// In place on a terminal, else plain lines
    #[default]
    Auto,
    /// JSON Lines on stdout
    Json,
    /// Plain lines
    Plain,
}

/// Shows the events of one build.
pub struct Progress {
    style: Style,
    /// The spinners of the running steps, on a terminal.
    bars: Option<MultiProgress>,
    steps: HashMap<usize, (Step, ProgressBar)>,
}

impl Progress {
    /// The progress output of `style` on these streams.
    pub fn new(style: Style, env: &Env) -> Self {
        let is_in_place = style == Style::Auto && env.err.is_terminal;
        Self { style, bars: is_in_place.then(MultiProgress::new), steps: HashMap::new() }
    }

    /// Shows one event.
    pub fn show(&mut self, env: &mut Env, event: &BuildEvent) {
        if self.style == Style::Json {
            return drop(env.out.line(&json!(event).to_string()));
        }
        match event {
            BuildEvent::Context { files, bytes, .. } => {
                self.say(env, "", &format!("context: {}", amount(*files, *bytes)));
            }
            BuildEvent::UpToDate { files, bytes } => {
                self.say(env, "", &format!("up to date: {}", amount(*files, *bytes)));
            }
            BuildEvent::RunsAgain { step, cause, seconds } => {
                self.say(env, "again", &runs_again(step, cause, *seconds));
            }
            BuildEvent::StepStarted(step) => self.started(env, step),
            BuildEvent::StepLog { line, .. } if env.verbose => self.say(env, "", &format!("| {line}")),
            BuildEvent::StepLog { id, line } => self.note(*id, line),
            BuildEvent::StepProgress { id, current, total, .. } if *total > 0 => {
                self.note(*id, &format!("{} of {}", size(*current), size(*total)));
            }
            BuildEvent::StepRunning { id, seconds } => self.still_running(env, *id, *seconds),
            BuildEvent::StepDone { id, cached, seconds } => self.ended(env, *id, &ending(*cached, *seconds)),
            BuildEvent::StepFailed { id, .. } => self.ended(env, *id, "failed"),
            BuildEvent::Warning { message } if self.bars.is_none() => warn(env, message),
            BuildEvent::Warning { message } => self.say(env, "warning:", message),
            BuildEvent::StepProgress { .. } => {}
        }
    }

    /// Clears the spinners.
    pub fn end(self) {
        self.steps.into_values().for_each(|(_, bar)| bar.finish_and_clear());
    }

    /// Prints a line, above the spinners if there are any.
    fn say(&self, env: &mut Env, what: &str, text: &str) {
        match &self.bars {
            Some(bars) => {
                let text = cut(&visible_line(text), self.room(env));
                bars.println(format!("{what:>ENDING$}  {text}")).ok();
            }
            None => env.print(&format!("{what:>ENDING$}  {}", visible_line(text))),
        }
    }

    fn started(&mut self, env: &Env, step: &Step) {
        let bar = match &self.bars {
            Some(bars) => bars.add(ProgressBar::new_spinner()),
            None => ProgressBar::hidden(),
        };
        bar.set_style(style("{elapsed:>7} {spinner} {prefix} {wide_msg:.dim}"));
        bar.set_prefix(visible_line(&title(step, self.room(env))));
        if self.bars.is_some() {
            bar.enable_steady_tick(TICK);
        }
        self.steps.insert(step.id, (step.clone(), bar));
    }

    fn note(&self, id: usize, text: &str) {
        if let Some((_, bar)) = self.steps.get(&id) {
            bar.set_message(visible_line(text));
        }
    }

    /// Names a step that runs long, where no spinner shows it.
    fn still_running(&self, env: &mut Env, id: usize, seconds: u64) {
        if let Some((step, _)) = self.steps.get(&id).filter(|_| self.bars.is_none()) {
            self.say(env, &format!("{seconds}s …"), &visible_line(&title(step, self.room(env))));
        }
    }

    fn ended(&mut self, env: &mut Env, id: usize, how: &str) {
        let Some((step, bar)) = self.steps.remove(&id) else { return };
        bar.finish_and_clear();
        if !step.internal || env.verbose {
            self.say(env, how, &visible_line(&title(&step, self.room(env))));
        }
    }

    /// Columns beside the ends of steps. A terminal would wrap a spinner that fills its last column.
    fn room(&self, env: &Env) -> usize {
        env.width.saturating_sub(ENDING + 2 + usize::from(self.bars.is_some()))
    }
}

/// A style of bars and spinners.
pub(super) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// `[ 3/12] RUN …`, cut to `width` columns.
fn title(step: &Step, width: usize) -> String {
    let number = match (step.number, step.total) {
        (Some(number), Some(total)) => format!("[{number:>2}/{total}] "),
        _ => String::new(),
    };
    let stage =
        step.stage.as_ref().filter(|stage| !stage.starts_with("stage-")).map(|stage| format!("{stage}: "));
    cut(&format!("{number}{}{}", stage.unwrap_or_default(), step.summary()), width)
}

fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| {
        let rest = left.checked_sub(c.width().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The end of a step: `cached`, or its duration.
fn ending(cached: bool, seconds: Option<f64>) -> String {
    match (cached, seconds) {
        (true, _) => "cached".to_owned(),
        (false, Some(seconds)) => format!("{seconds:.1}s"),
        (false, None) => "done".to_owned(),
    }
}

/// Why a step runs again, and how long it ran the last time.
pub(super) fn runs_again(step: &str, cause: &str, seconds: Option<f64>) -> String {
    let last =
        seconds.map_or_else(String::new, |seconds| format!(" ({} last time)", ending(false, Some(seconds))));
    format!("{step}: {cause}{last}")
}

/// `12 files, 3.4 kB`
pub(super) fn amount(files: u64, bytes: u64) -> String {
    format!("{}, {}", count(usize::try_from(files).unwrap_or(usize::MAX), "file"), size(bytes))
}

/// A number of bytes in decimal units.
pub fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["kB", "MB", "GB", "TB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}
