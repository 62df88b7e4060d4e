//! A running local server as its user sees it: events in words, or as JSON for programs.

use std::pin::Pin;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::ask::confirm;
use super::check::ConfigOption;
use super::command::session;
use super::console::{ERROR, NOTE, WARNING, ready, say, several, visible_line};
use super::env::Env;
use crate::dev::{Crash, Event, Hooks, Session, Urls, open_browser};

/// Time for which the lines of an error are held back.
const HELD: Duration = Duration::from_millis(500);

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// Shows what happens, and answers what is asked.
pub(super) struct Follow<'a> {
    env: &'a mut Env,
    config: &'a ConfigOption,
    look: Look,
    /// Taken when it is opened.
    opens_browser: bool,
    spinner: Option<ProgressBar>,
    /// Where the server was last said to be.
    said: Option<Urls>,
    /// Lines of a starting server from its first error on, and since when: a crash report may say the same in fewer.
    held: Option<(Instant, Vec<String>)>,
    is_starting: bool,
}

/// How events are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// As JSON on stdout, rather than in words.
    pub(super) is_json: bool,
    /// Whether a server that ended waits for a change.
    pub(super) waits: bool,
}

impl<'a> Follow<'a> {
    pub(super) fn new(env: &'a mut Env, config: &'a ConfigOption, look: Look, opens_browser: bool) -> Self {
        env.end_round();
        Self { env, config, look, opens_browser, spinner: None, said: None, held: None, is_starting: false }
    }

    fn say(&mut self, what: anstyle::Style, word: &str, text: &str) {
        say(self.env, what, word, text);
    }

    fn in_words(&mut self, event: &Event) {
        match event {
            Event::Provisioning { message, done } => self.provisioning(message, *done),
            Event::Starting { program } if self.env.verbose => {
                self.say(NOTE, "starting", &program.display().to_string());
            }
            Event::Starting { .. } | Event::Stopped => {}
            Event::Ready { urls, milliseconds } => self.ready(urls, *milliseconds),
            Event::Reloading { changed } => self.say(NOTE, "reloading", &several(changed)),
            Event::Kept { reason } => {
                self.say(WARNING, "warning", &format!("the change is not taken over: {reason}"));
            }
            Event::Crashed(crash) => self.crashed(crash),
            Event::Note { message } => self.say(NOTE, "note", message),
            Event::Warning { message } => self.say(WARNING, "warning", message),
            Event::Log { line } => self.log(line),
        }
    }

    /// Shows a line of the server as it is, or holds it back for a moment if it belongs to an error at startup.
    fn log(&mut self, line: &str) {
        let word = line.to_lowercase();
        if self.is_starting && (word.contains("error") || word.contains("traceback")) {
            self.held.get_or_insert_with(|| (Instant::now(), Vec::new()));
        }
        match &mut self.held {
            Some((_, lines)) => lines.push(line.to_owned()),
            None => self.env.tell(line),
        }
    }

    fn release(&mut self) {
        let lines = self.held.take().map(|(_, lines)| lines);
        lines.into_iter().flatten().for_each(|line| self.env.tell(&line));
    }

    /// Where the cause is known, a few lines say more than all that the server says.
    fn crashed(&mut self, crash: &Crash) {
        if crash.cause.is_none() || self.env.verbose {
            self.release();
        } else if self.held.take().is_some() {
            crash.last_lines.iter().for_each(|line| self.env.tell(&format!("  | {line}")));
        }
        if self.look.waits {
            let cause = crash.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
            self.say(ERROR, "error", &format!("the server ended with {}{cause}", crash.status));
            self.say(NOTE, "note", "it starts again when something changes");
        }
    }

    /// One line that changes in place on a terminal; elsewhere the first and the last.
    fn provisioning(&mut self, message: &str, done: bool) {
        let is_first = self.spinner.is_none();
        let spinner = self.spinner.get_or_insert_with(ProgressBar::new_spinner).clone();
        if self.env.err.is_terminal {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            style.into_iter().for_each(|style| spinner.set_style(style));
            spinner.enable_steady_tick(TICK);
            spinner.set_message(visible_line(message));
        } else if is_first && !done {
            self.say(NOTE, "provisioning", message);
        }
        if done {
            self.settle();
            let seconds = spinner.elapsed().as_secs_f64();
            self.say(NOTE, "provisioning", &format!("{message} in {seconds:.1} s"));
        }
    }

    /// Clears the line that changes in place.
    fn settle(&mut self) {
        self.spinner.take().into_iter().for_each(|spinner| spinner.finish_and_clear());
    }

    fn ready(&mut self, urls: &Urls, milliseconds: u64) {
        let places = [
            ("API", Some(&*urls.api)),
            ("docs", urls.docs.as_deref()),
            ("studio", Some(&*urls.studio)),
            ("public", urls.public.as_deref()),
        ];
        let is_known = self.said.replace(urls.clone()).as_ref() == Some(urls);
        ready(&mut self.env.out, milliseconds, if is_known { &[] } else { &places });
    }
}

impl Hooks for Follow<'_> {
    fn event(&mut self, event: &Event) {
        if !matches!(event, Event::Provisioning { .. }) {
            self.settle();
        }
        match event {
            Event::Starting { .. } => self.is_starting = true,
            Event::Ready { .. } | Event::Stopped | Event::Warning { .. } => {
                self.is_starting = false;
                self.release();
            }
            _ => {}
        }
        match event {
            event if self.look.is_json => {
                let out = &mut self.env.out;
                out.write(&format!("{}\n", json!(event))).and_then(|()| out.flush()).ok();
            }
            event => self.in_words(event),
        }
        if let Event::Ready { urls, .. } = event
            && std::mem::take(&mut self.opens_browser)
            && open_browser(&urls.studio).is_err()
        {
            self.say(NOTE, "note", "no browser could be opened");
        }
    }

    fn tick(&mut self) {
        if self.held.as_ref().is_some_and(|(since, _)| since.elapsed() > HELD) {
            self.release();
        }
    }

    fn confirm(&mut self, question: &str) -> Pin<Box<dyn Future<Output = bool>>> {
        Box::pin(confirm(self.env, question, true))
    }

    fn is_over(&self) -> bool {
        self.look.is_json && self.env.out.is_closed
    }

    fn replan(&mut self) -> Option<Session> {
        let session = session(self.env, self.config).ok()?;
        self.env.end_round();
        Some(session)
    }
}
