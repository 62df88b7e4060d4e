//! The progress of a pull, a push, an upload or an installation.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::cli::console::{NOTE, say, visible_line};
use crate::cli::env::Env;
use crate::cli::progress::{TICK, style};

/// Shortest interval between two JSON events about the same progress.
const INTERVAL: Duration = Duration::from_secs(1);

/// A line that changes in place on a terminal. Elsewhere, only the first text about each subject is printed.
#[derive(Default)]
pub(super) struct ProgressLine {
    /// The subject, and its bar.
    current: Option<(String, ProgressBar)>,
    /// When the subject was last due in JSON.
    last_due: Option<(String, Instant)>,
}

impl ProgressLine {
    /// Shows `text` about `subject`, after the word for what is done with it. `bytes` are the current number and the total,
    /// which is 0 while it is unknown.
    pub(super) fn update(
        &mut self,
        env: &mut Env,
        word: &'static str,
        subject: &str,
        text: &str,
        bytes: (u64, u64),
    ) {
        let key = format!("{word} {subject}");
        if self.current.as_ref().is_none_or(|(known, _)| *known != key) {
            self.end();
            if !env.err.is_terminal && !text.is_empty() {
                say(env, NOTE, word, text);
            }
            self.current = Some((key, bar(env, word)));
        }
        let Some((_, bar)) = &self.current else { return };
        let (current, total) = bytes;
        if total > 0 && bar.length() != Some(total) {
            bar.set_style(style("{prefix} {bar:30} {bytes} of {total_bytes} {wide_msg}"));
            bar.set_length(total);
        }
        bar.set_position(current);
        bar.set_message(visible_line(text));
    }

    /// Whether a JSON event about `subject` is due: the first is, and then one per interval.
    pub(super) fn is_due(&mut self, subject: &str) -> bool {
        let is_due =
            self.last_due.as_ref().is_none_or(|(known, last)| known != subject || last.elapsed() >= INTERVAL);
        if is_due {
            self.last_due = Some((subject.to_owned(), Instant::now()));
        }
        is_due
    }

    /// The bar, so that text can be printed above it.
    pub(super) fn bar(&self) -> Option<ProgressBar> {
        self.current.as_ref().map(|(_, bar)| bar.clone())
    }

    /// Removes the line, and returns the time since its first text.
    pub(super) fn end(&mut self) -> Duration {
        let Some((_, bar)) = self.current.take() else { return Duration::ZERO };
        bar.finish_and_clear();
        bar.elapsed()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.end();
    }
}

fn bar(env: &Env, word: &'static str) -> ProgressBar {
    if !env.err.is_terminal {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::no_length().with_prefix(word);
    bar.set_style(style("{spinner} {prefix} {wide_msg}"));
    bar.enable_steady_tick(TICK);
    bar
}
