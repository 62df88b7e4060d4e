//! A running setup as its user sees it: events in words, or as JSON for programs.

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};
use serde_json::json;

use super::console::{NOTE, WARNING, paint, ready, say, several, visible_line};
use super::env::Env;
use super::image;
use super::progress::{Progress, Style as ProgressStyle, size};
use super::setup::SetupArguments;
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent};
use crate::up::{Change, Event, Hooks, Session, Urls};

/// What services are told apart by, in the order in which they first say something.
const COLOURS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Green, AnsiColor::Yellow, AnsiColor::Blue];

/// Shows what happens, and answers what is asked.
pub(super) struct Attach<'a> {
    env: &'a mut Env,
    arguments: &'a SetupArguments,
    /// What the findings of a build are drawn with.
    source: Source,
    is_json: bool,
    progress: Option<Progress>,
    colours: HashMap<String, AnsiColor>,
    /// The width of the longest service's name so far.
    width: usize,
    /// The image that is said to be pulled.
    pulling: Option<String>,
    /// Where the server was last said to be.
    said: Option<Urls>,
}

impl<'a> Attach<'a> {
    pub(super) fn new(
        env: &'a mut Env,
        arguments: &'a SetupArguments,
        source: Source,
        is_json: bool,
    ) -> Self {
        env.end_round();
        Self {
            env,
            arguments,
            source,
            is_json,
            progress: None,
            colours: HashMap::new(),
            width: 0,
            pulling: None,
            said: None,
        }
    }

    fn say(&mut self, style: Style, word: &str, text: &str) {
        say(self.env, style, word, text);
    }

    fn in_words(&mut self, event: &Event) {
        match event {
            Event::Pulling { image, current, total } => self.pulling(image, *current, *total),
            Event::Service { service, change } => self.changed(service, *change),
            Event::Ready { urls, milliseconds } => self.ready(urls, *milliseconds),
            Event::Reloading { changed } => self.say(NOTE, "reloading", &several(changed)),
            Event::Kept { reason } => {
                self.say(WARNING, "warning", &format!("the change is not taken over: {reason}"));
            }
            // That it failed is said by whoever ends for it, or waits for a change.
            Event::Failed { last_lines, .. } => {
                for line in last_lines {
                    self.env.tell(&format!("  | {}", visible_line(line)));
                }
            }
            Event::Stopped => {}
            Event::Note { message } => self.say(NOTE, "note", message),
            Event::Warning { message } => self.say(WARNING, "warning", message),
            Event::Log { service, line } => self.log(service, line),
        }
    }

    /// `langgraph-redis  | Ready to accept connections`
    fn log(&mut self, service: &str, line: &str) {
        let next = COLOURS[self.colours.len() % COLOURS.len()];
        let colour = *self.colours.entry(service.to_owned()).or_insert(next);
        self.width = self.width.max(service.len());
        let prefix = format!("{service:<width$} |", width = self.width);
        let prefix = paint(&self.env.err, colour.on_default(), &prefix);
        self.env.tell(&format!("{prefix} {}", visible_line(line)));
    }

    fn pulling(&mut self, image: &str, current: u64, total: u64) {
        if self.pulling.as_deref() != Some(image) {
            self.pulling = Some(image.to_owned());
            self.say(NOTE, "pulling", image);
        } else if self.env.err.is_terminal && total > 0 {
            let text = format!("\r  {} of {}\u{1b}[K", size(current), size(total));
            self.env.err.write(&text).and_then(|()| self.env.err.flush()).ok();
            if current == total {
                self.env.tell("");
            }
        }
    }

    fn changed(&mut self, service: &str, change: Change) {
        let word = match change {
            Change::Created => "created",
            Change::Healthy => "healthy",
            Change::Recreated => "recreated",
            Change::Removed => "removed",
            Change::Started => "started",
            Change::Stopped => "stopped",
            Change::Unchanged => "unchanged",
        };
        self.env.tell(&format!("{word:>9}  {service}"));
    }

    fn ready(&mut self, urls: &Urls, milliseconds: u64) {
        let places = [
            ("API", Some(&*urls.api)),
            ("docs", urls.docs.as_deref()),
            ("studio", Some(&*urls.studio)),
            ("debugger", urls.debugger.as_deref()),
        ];
        let is_known = self.said.replace(urls.clone()).as_ref() == Some(urls);
        ready(&mut self.env.out, milliseconds, if is_known { &[] } else { &places });
    }
}

impl Hooks for Attach<'_> {
    fn event(&mut self, event: &Event) {
        if self.is_json {
            let out = &mut self.env.out;
            out.write(&format!("{}\n", json!(event))).and_then(|()| out.flush()).ok();
        } else {
            self.in_words(event);
        }
    }

    fn building(&mut self, event: &BuildEvent) {
        let style = if self.is_json { ProgressStyle::Json } else { ProgressStyle::Auto };
        let progress = self.progress.get_or_insert_with(|| Progress::new(style, self.env));
        progress.show(self.env, event);
        image::warn_if_large(self.env, event);
    }

    fn built(&mut self, failed: Option<&engine::Error>) {
        self.progress.take().into_iter().for_each(Progress::end);
        if let Some(error) = failed {
            image::explain(self.env, error, &self.source);
        }
    }

    fn is_over(&self) -> bool {
        self.is_json && self.env.out.is_closed
    }

    fn replan(&mut self) -> Option<Session> {
        let prepared = self.arguments.prepare(self.env, false).ok()?;
        self.env.end_round();
        self.source = prepared.planned.project.source;
        Some(prepared.session)
    }
}
