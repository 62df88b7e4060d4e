//! The progress of a build: a line per step that changes in place on a terminal, plain lines elsewhere, or JSON Lines.

mod json;
mod lines;
mod terminal;

use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::env::Env;
use crate::engine::{BuildEvent, Step};

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
pub enum Progress {
    /// JSON lines.
    Json,
    /// Plain lines.
    Lines(lines::Lines),
    /// Lines that change in place.
    Terminal(terminal::Terminal),
}

impl Progress {
    /// The progress output of `style` on these streams.
    pub fn new(style: Style, env: &Env) -> Self {
        match style {
            Style::Json => Self::Json,
            Style::Auto if env.err.is_terminal => {
                Self::Terminal(terminal::Terminal::new(env.width, env.verbose))
            }
            Style::Auto | Style::Plain => Self::Lines(lines::Lines::new(env.width, env.verbose)),
        }
    }

    /// Shows one event.
    pub fn show(&mut self, env: &mut Env, event: &BuildEvent) {
        match self {
            Self::Json => json::show(env, event),
            Self::Lines(lines) => lines.show(env, event),
            Self::Terminal(terminal) => terminal.show(event),
        }
    }

    /// Clears the lines of running steps.
    pub fn end(self) {
        if let Self::Terminal(terminal) = self {
            terminal.end();
        }
    }
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
fn ending(cached: bool, duration: Option<Duration>) -> String {
    match (cached, duration) {
        (true, _) => "cached".to_owned(),
        (false, Some(duration)) => format!("{:.1}s", duration.as_secs_f64()),
        (false, None) => "done".to_owned(),
    }
}

/// `12 files, 3.4 kB`
fn amount(files: u64, bytes: u64) -> String {
    format!(
        "{}, {}",
        super::console::count(usize::try_from(files).unwrap_or(usize::MAX), "file"),
        size(bytes)
    )
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
