//! The one printer of events: words for people, JSON Lines for programs.

mod log;
mod progress_line;
mod replaced;

use serde_json::json;

use super::console::{ERROR, FINE, HEADING, NOTE, WARNING, count, note, paint, say, visible_line};
use super::env::Env;
use super::image;
use super::progress::{Progress, Style, amount, size};
use super::table;
use crate::child::open_browser;
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent, BuildReporter};
use crate::live::{Change, Crash, Event, FieldChange, Reporter, Request, Run, Urls};
use log::Log;
use progress_line::ProgressLine;
use replaced::Replaced;

/// Prints the events of one command. `context` is what the command needs to answer questions and to plan again.
pub(super) struct Printer<'a, C = ()> {
    pub(super) env: &'a mut Env,
    pub(super) is_json: bool,
    pub(super) context: C,
    /// The configuration, to explain a failed build.
    pub(super) source: Option<Source>,
    /// Format of the progress of builds.
    pub(super) style: Style,
    /// Whether the browser is opened once the server is ready.
    pub(super) opens_browser: bool,
    progress: ProgressLine,
    /// The progress of the build that is running.
    build: Option<Progress>,
    replaced: Replaced,
    log: Log,
    /// The URLs that were printed last.
    urls: Option<Urls>,
}

impl<'a, C> Printer<'a, C> {
    pub(super) fn new(env: &'a mut Env, is_json: bool, context: C) -> Self {
        env.end_round();
        let style = if is_json { Style::Json } else { Style::Auto };
        Self {
            env,
            is_json,
            context,
            style,
            source: None,
            opens_browser: false,
            progress: ProgressLine::default(),
            build: None,
            replaced: Replaced::default(),
            log: Log::default(),
            urls: None,
        }
    }
}

impl<C> BuildReporter for Printer<'_, C> {
    fn building(&mut self, event: &BuildEvent) {
        let progress = self.build.get_or_insert_with(|| Progress::new(self.style, self.env));
        progress.show(self.env, event);
        if let Some(warning) = self.replaced.read(event) {
            progress.show(self.env, &warning);
        }
        image::warn_if_large(self.env, event);
    }

    /// Explains a failure with the place in the configuration.
    fn built(&mut self, failed: Option<&engine::Error>) {
        self.build.take().into_iter().for_each(Progress::end);
        if let (Some(error), Some(source)) = (failed, &self.source) {
            image::explain(self.env, error, source);
        }
    }
}

impl<C> Reporter for Printer<'_, C> {
    fn event(&mut self, event: &Event) {
        if self.is_json {
            self.in_json(event)
        } else {
            self.for_people(event)
        }
        if let Event::Ready { urls, .. } = event
            && std::mem::take(&mut self.opens_browser)
            && open_browser(urls.page.as_ref().unwrap_or(&urls.studio)).is_err()
        {
            note(self.env, "cannot open a browser");
        }
    }

    fn tick(&mut self) {
        self.log.tick(self.env);
    }

    fn is_closed(&self) -> bool {
        self.is_json && self.env.out.is_closed
    }
}

impl<C> Printer<'_, C> {
    /// Reports an image that was pushed as the result of the command.
    pub(super) fn pushed(&mut self, image: String) {
        if self.is_json {
            return self.in_json(&Event::Pushed { image });
        }
        self.progress.end();
        self.result(&image);
    }

    fn for_people(&mut self, event: &Event) {
        if matches!(event, Event::Ready { .. } | Event::Stopped | Event::Warning { .. }) {
            self.log.started(self.env);
        }
        match event {
            Event::Provisioning { .. }
            | Event::Pulling { .. }
            | Event::Push { .. }
            | Event::Upload { .. } => self.progress(event),
            // They may come in the middle of a transfer.
            Event::Log { .. } | Event::Note { .. } | Event::Warning { .. } => match self.progress.bar() {
                Some(bar) => bar.suspend(|| self.in_words(event)),
                None => self.in_words(event),
            },
            event => {
                self.progress.end();
                self.in_words(event);
            }
        }
    }

    fn in_json(&mut self, event: &Event) {
        let transfer = match event {
            Event::Pulling { image, .. } => Some(image.as_str()),
            Event::Push { .. } => Some("push"),
            Event::Upload { .. } => Some("upload"),
            _ => None,
        };
        if transfer.is_none_or(|subject| self.progress.is_due(subject)) {
            self.result(&json!(event).to_string());
        }
    }

    fn progress(&mut self, event: &Event) {
        let (word, subject, text, bytes) = match event {
            Event::Provisioning { message, done: true } => {
                let seconds = self.progress.end().as_secs_f64();
                return self.say(NOTE, "installed", &format!("{message} in {seconds:.1} s"));
            }
            Event::Provisioning { message, .. } => ("installing", "", message.clone(), (0, 0)),
            Event::Pulling { image, current, total } => {
                ("pulling", &**image, image.clone(), (*current, *total))
            }
            Event::Push { bytes, total, layers } => {
                ("pushing", "", count(*layers, "layer"), (*bytes, *total))
            }
            Event::Upload { bytes, total } => ("uploading", "", size(*total), (*bytes, *total)),
            _ => return,
        };
        self.progress.update(self.env, word, subject, &text, bytes);
    }

    fn in_words(&mut self, event: &Event) {
        match event {
            Event::Starting { program } => {
                self.log.start();
                if self.env.verbose {
                    self.say(NOTE, "starting", &program.display().to_string());
                }
            }
            Event::Service { service, change } => self.changed(service, *change),
            Event::Ready { urls, milliseconds } => self.ready(urls, *milliseconds),
            Event::Reloading { changed } => {
                let changed = match &changed[..] {
                    [] => "a change".to_owned(),
                    [one] => one.clone(),
                    [one, rest @ ..] => format!("{one} and {} more", rest.len()),
                };
                self.say(NOTE, "reloading", &changed);
            }
            Event::Kept { reason, last_lines, hint } => {
                self.say(WARNING, "warning", &format!("keeping the running server: {reason}"));
                self.quote(last_lines);
                self.hint(hint.as_ref());
            }
            Event::Crashed(crash) => self.crashed(crash),
            // The failure itself is an error, or a note if a change may fix it.
            Event::Failed { last_lines, .. } => self.quote(last_lines),
            Event::Note { message } => self.say(NOTE, "note", message),
            Event::Warning { message } => self.say(WARNING, "warning", message),
            Event::Run(run) => self.ran(run),
            Event::Request(request) => self.refused(request),
            Event::Log { service: Some(service), line } => self.log.line_of(self.env, service, line),
            Event::Log { service: None, line } => self.log.line(self.env, line),
            event => self.deployment_in_words(event),
        }
    }

    fn deployment_in_words(&mut self, event: &Event) {
        let (word, text) = match event {
            Event::Found { deployment_id, name } => ("deployment", format!("{name} ({deployment_id})")),
            Event::Created { deployment_id, name } => ("created", format!("{name} ({deployment_id})")),
            Event::Would { step, message } => {
                return self.result(&format!("{step:<8} {}", visible_line(message)));
            }
            Event::Changes { changes } => return self.changes(changes),
            Event::Built { id, .. } => ("built", id.clone()),
            Event::Pushed { image } => ("pushed", image.clone()),
            Event::Packed { files, bytes } => ("packed", amount(*files, *bytes)),
            Event::Uploaded { bytes, .. } => ("uploaded", size(*bytes)),
            Event::Revision { revision_id, .. } => ("revision", revision_id.clone()),
            Event::Status { status, seconds } => ("status", format!("{status} after {seconds:.0} s")),
            Event::Entry { message, .. } => return self.quote(&[message.trim_end().to_owned()]),
            Event::Result { status, name, deployment_id, revision_id, url } => {
                // A failure is reported as an error.
                if matches!(*status, "deployed" | "submitted") {
                    let [deployment, revision] = [deployment_id, revision_id].map(Some);
                    let rows = [("URL", url.as_ref()), ("deployment", deployment), ("revision", revision)];
                    self.deployed(status, name, rows);
                }
                return;
            }
            _ => return,
        };
        self.say(NOTE, word, &visible_line(&text));
    }

    fn changes(&mut self, changes: &[FieldChange]) {
        if changes.is_empty() {
            return self.result("nothing changes");
        }
        let row = |it: &FieldChange| {
            let FieldChange { object, field, before, after, .. } = it.clone();
            vec![it.action.to_owned(), object, field, before, after]
        };
        let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
        let text = table::render(&self.env.out, &["ACTION", "OBJECT", "FIELD", "BEFORE", "AFTER"], &rows);
        self.result(text.trim_end());
    }

    fn deployed(&mut self, status: &str, name: &str, rows: [(&str, Option<&String>); 3]) {
        let mut text = format!("{} {}", paint(&self.env.out, HEADING, status), visible_line(name));
        for (name, value) in rows {
            text.extend(value.map(|value| format!("\n  {name:<12}{}", visible_line(value))));
        }
        self.result(&text);
    }

    fn say(&mut self, style: anstyle::Style, word: &str, text: &str) {
        say(self.env, style, word, text);
    }

    /// Prints a line on stdout.
    fn result(&mut self, line: &str) {
        self.env.out.line(line).ok();
    }

    fn quote(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.env.print(&format!("  | {}", visible_line(line))));
    }

    /// A run in one line: `16:02:31  shop  failed  12 ms  look_up: NameError: … (src/shopbot/graph.py:18)`
    fn ran(&mut self, run: &Run) {
        let Run { time, graph, status, milliseconds, nodes, node, error, place, .. } = run;
        let (style, status) = match status.as_str() {
            "ok" => (FINE, "ok"),
            "failed" => (ERROR, "failed"),
            "interrupted" => (WARNING, "waits"),
            status => (WARNING, status),
        };
        let status = paint(&self.env.err, style, &format!("{status:<7}"));
        let story = match error {
            Some(error) => {
                let node = node.as_ref().map_or_else(String::new, |node| format!("{node}: "));
                let place = place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
                format!("{node}{error}{place}")
            }
            None => path_of(nodes),
        };
        let duration = match milliseconds {
            0..10_000 => format!("{milliseconds} ms"),
            _ => format!("{:.1} s", *milliseconds as f64 / 1000.0),
        };
        let (graph, story) = (visible_line(graph), in_one_line(&story));
        self.env.print(&format!("{time}  {graph}  {status}  {duration:>7}  {story}"));
    }

    fn refused(&mut self, request: &Request) {
        let Request { time, method, path, status, detail } = request;
        let call = visible_line(&format!("{method} {path}"));
        let status = paint(&self.env.err, WARNING, &status.to_string());
        self.env.print(&format!("{time}  {call}  {status}  {}", in_one_line(detail)));
    }

    /// If the cause is known, its few lines replace those that are held back.
    fn crashed(&mut self, crash: &Crash) {
        if crash.cause.is_none() || self.env.verbose {
            self.log.release(self.env);
        } else if self.log.discard() {
            self.quote(&crash.last_lines);
        }
        if crash.restarts {
            let cause = crash.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
            self.say(ERROR, "error", &format!("the server ended with {}{cause}", crash.status));
            self.hint(crash.hint.as_ref());
            self.say(NOTE, "note", "it starts again when something changes");
        }
    }

    fn hint(&mut self, hint: Option<&String>) {
        if let Some(hint) = hint {
            self.say(NOTE, "hint", hint);
        }
    }

    fn changed(&mut self, service: &str, change: Change) {
        let change = json!(change);
        self.env.print(&format!("{:>9}  {service}", change.as_str().unwrap_or_default()));
    }

    /// The URLs are printed if they are new.
    fn ready(&mut self, urls: &Urls, milliseconds: u64) {
        let seconds = milliseconds as f64 / 1000.0;
        let mut text = format!("{} in {seconds:.1} s", paint(&self.env.out, HEADING, "ready"));
        if self.urls.replace(urls.clone()).as_ref() != Some(urls) {
            let (api, studio) = (Some(&urls.api), Some(&urls.studio));
            let docs = urls.docs.as_ref();
            let public = urls.public.as_ref();
            let debugger = urls.debugger.as_ref();
            let places = [
                ("open", urls.page.as_ref()),
                ("API", api),
                ("docs", docs),
                ("studio", studio),
                ("public", public),
                ("debugger", debugger),
            ];
            let lines = places.into_iter().filter_map(|(name, url)| Some(format!("\n  {name:<8}  {}", url?)));
            text.extend(lines);
        }
        self.result(&text);
    }
}

/// A text that may have several lines.
fn in_one_line(text: &str) -> String {
    visible_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The nodes of a run, in their order; repeated rounds of a long run are left out.
fn path_of(nodes: &[String]) -> String {
    const MOST: usize = 8;
    let shown = nodes[..nodes.len().min(MOST)].join(" → ");
    match nodes.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} → {more} more"),
    }
}
