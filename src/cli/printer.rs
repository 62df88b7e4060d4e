//! The one printer of events: words for people, JSON Lines for programs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::console::{ERROR, NOTE, WARNING, paint, ready, say, several, visible_line};
use super::env::Env;
use super::progress::size;
use crate::live::{Change, Crash, Event, Urls};

/// Colours of the services, in the order in which they first print something.
const COLOURS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Green, AnsiColor::Yellow, AnsiColor::Blue];

/// Time for which the lines of an error at startup are held back: a crash report may say the same in fewer.
const HELD: Duration = Duration::from_millis(500);

/// Interval of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// Shows the events of one command.
pub(super) struct Printer<'a> {
    pub(super) env: &'a mut Env,
    pub(super) is_json: bool,
    /// The line that changes in place, and what it is about.
    progress: Option<(String, ProgressBar)>,
    /// The URLs that were shown last.
    shown: Option<Urls>,
    held: Option<(Instant, Vec<String>)>,
    is_starting: bool,
    colours: HashMap<String, AnsiColor>,
    /// The width of the longest service name so far.
    width: usize,
}

impl<'a> Printer<'a> {
    pub(super) fn new(env: &'a mut Env, is_json: bool) -> Self {
        env.end_round();
        Self {
            env,
            is_json,
            progress: None,
            shown: None,
            held: None,
            is_starting: false,
            colours: HashMap::new(),
            width: 0,
        }
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &Event) {
        if self.is_json {
            let out = &mut self.env.out;
            out.write(&format!("{}\n", json!(event))).and_then(|()| out.flush()).ok();
            return;
        }
        if !matches!(event, Event::Provisioning { .. } | Event::Pulling { .. }) {
            self.progress.take().into_iter().for_each(|(_, bar)| bar.finish_and_clear());
        }
        if matches!(event, Event::Ready { .. } | Event::Stopped | Event::Warning { .. }) {
            self.is_starting = false;
            self.release();
        }
        self.in_words(event);
    }

    /// Shows lines that were held back long enough.
    pub(super) fn tick(&mut self) {
        if self.held.as_ref().is_some_and(|(since, _)| since.elapsed() > HELD) {
            self.release();
        }
    }

    /// Whether nobody reads the events any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_json && self.env.out.is_closed
    }

    fn in_words(&mut self, event: &Event) {
        match event {
            Event::Provisioning { message, done } => self.provisioning(message, *done),
            Event::Pulling { image, current, total } => self.pulling(image, *current, *total),
            Event::Starting { program } => {
                self.is_starting = true;
                if self.env.verbose {
                    self.say(NOTE, "starting", &program.display().to_string());
                }
            }
            Event::Service { service, change } => self.changed(service, *change),
            Event::Ready { urls, milliseconds } => self.ready(urls, *milliseconds),
            Event::Reloading { changed } => self.say(NOTE, "reloading", &several(changed)),
            Event::Kept { reason } => {
                self.say(WARNING, "warning", &format!("keeping the running server: {reason}"));
            }
            Event::Crashed(crash) => self.crashed(crash),
            // The failure itself is an error, or a note if a change may mend it.
            Event::Failed { last_lines, .. } => self.quote(last_lines),
            Event::Stopped => {}
            Event::Note { message } => self.say(NOTE, "note", message),
            Event::Warning { message } => self.say(WARNING, "warning", message),
            Event::Log { service: Some(service), line } => self.log_of(service, line),
            Event::Log { service: None, line } => self.log(line),
        }
    }

    fn say(&mut self, style: Style, word: &str, text: &str) {
        say(self.env, style, word, text);
    }

    fn quote(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.env.tell(&format!("  | {}", visible_line(line))));
    }

    /// A line of the only server, as it is; one of an error at startup is held back.
    fn log(&mut self, line: &str) {
        let lower = line.to_lowercase();
        if self.is_starting && (lower.contains("error") || lower.contains("traceback")) {
            self.held.get_or_insert_with(|| (Instant::now(), Vec::new()));
        }
        match &mut self.held {
            Some((_, lines)) => lines.push(line.to_owned()),
            None => self.env.tell(line),
        }
    }

    /// `langgraph-redis  | Ready to accept connections`
    fn log_of(&mut self, service: &str, line: &str) {
        let next = COLOURS[self.colours.len() % COLOURS.len()];
        let colour = *self.colours.entry(service.to_owned()).or_insert(next);
        self.width = self.width.max(service.len());
        let prefix = format!("{service:<width$} |", width = self.width);
        let prefix = paint(&self.env.err, colour.on_default(), &prefix);
        self.env.tell(&format!("{prefix} {}", visible_line(line)));
    }

    fn release(&mut self) {
        let lines = self.held.take().map(|(_, lines)| lines);
        lines.into_iter().flatten().for_each(|line| self.env.tell(&line));
    }

    /// If the cause is known, its few lines replace those that are held back.
    fn crashed(&mut self, crash: &Crash) {
        if crash.cause.is_none() || self.env.verbose {
            self.release();
        } else if self.held.take().is_some() {
            self.quote(&crash.last_lines);
        }
        if crash.restarts {
            let cause = crash.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
            self.say(ERROR, "error", &format!("the server ended with {}{cause}", crash.status));
            self.say(NOTE, "note", "it starts again when something changes");
        }
    }

    fn provisioning(&mut self, message: &str, done: bool) {
        let bar = self.progress("provisioning", "", message);
        if done {
            self.progress = None;
            bar.finish_and_clear();
            let seconds = bar.elapsed().as_secs_f64();
            self.say(NOTE, "provisioning", &format!("{message} in {seconds:.1} s"));
        }
    }

    fn pulling(&mut self, image: &str, current: u64, total: u64) {
        let amount =
            if total > 0 { format!(": {} of {}", size(current), size(total)) } else { String::new() };
        self.progress("pulling", image, &format!("{image}{amount}"));
    }

    /// One line that changes in place on a terminal; elsewhere only the first for each `subject`.
    fn progress(&mut self, word: &str, subject: &str, text: &str) -> ProgressBar {
        let subject = format!("{word} {subject}");
        if let Some((known, bar)) = &self.progress
            && *known == subject
        {
            bar.set_message(visible_line(text));
            return bar.clone();
        }
        self.progress.take().into_iter().for_each(|(_, bar)| bar.finish_and_clear());
        let bar = ProgressBar::new_spinner();
        if self.env.err.is_terminal {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            style.into_iter().for_each(|style| bar.set_style(style));
            bar.enable_steady_tick(TICK);
            bar.set_message(visible_line(text));
        } else {
            self.say(NOTE, word, text);
        }
        self.progress = Some((subject, bar.clone()));
        bar
    }

    fn changed(&mut self, service: &str, change: Change) {
        self.env.tell(&format!("{:>9}  {service}", change.word()));
    }

    fn ready(&mut self, urls: &Urls, milliseconds: u64) {
        let places = [
            ("API", Some(&*urls.api)),
            ("docs", urls.docs.as_deref()),
            ("studio", Some(&*urls.studio)),
            ("public", urls.public.as_deref()),
            ("debugger", urls.debugger.as_deref()),
        ];
        let is_known = self.shown.replace(urls.clone()).as_ref() == Some(urls);
        ready(&mut self.env.out, milliseconds, if is_known { &[] } else { &places });
    }
}
