//! The one printer of events: words for people, JSON Lines for programs.

mod log;
mod progress_line;

use anstyle::Style;
use serde_json::json;

use super::console::{ERROR, HEADING, NOTE, WARNING, count, paint, ready, say, several, visible_line};
use super::env::Env;
use super::image;
use super::progress::{self, Progress, size};
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent};
use crate::live::{Change, Crash, Event, Reporter, Urls};
use log::Log;
use progress_line::ProgressLine;

/// Prints the events of one command.
pub(super) struct Printer<'a> {
    pub(super) env: &'a mut Env,
    pub(super) is_json: bool,
    progress: ProgressLine,
    /// The progress of the build that is running.
    build: Option<Progress>,
    log: Log,
    /// The URLs that were printed last.
    urls: Option<Urls>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(env: &'a mut Env, is_json: bool) -> Self {
        env.end_round();
        let (progress, build, log, urls) = Default::default();
        Self { env, is_json, progress, build, log, urls }
    }

    /// Prints the progress of a build.
    pub(super) fn building(&mut self, event: &BuildEvent) {
        let style = if self.is_json { progress::Style::Json } else { progress::Style::Auto };
        self.build.get_or_insert_with(|| Progress::new(style, self.env)).show(self.env, event);
        image::warn_if_large(self.env, event);
    }

    /// Ends the progress of a build; if it failed, explains that with the place in the configuration.
    pub(super) fn built(&mut self, failed: Option<&engine::Error>, source: &Source) {
        self.build.take().into_iter().for_each(Progress::end);
        if let Some(error) = failed {
            image::explain(self.env, error, source);
        }
    }
}

impl Reporter for Printer<'_> {
    fn event(&mut self, event: &Event) {
        if self.is_json {
            return self.in_json(event);
        }
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

    fn tick(&mut self) {
        self.log.tick(self.env);
    }

    fn is_closed(&self) -> bool {
        self.is_json && self.env.out.is_closed
    }
}

impl Printer<'_> {
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
        match event {
            Event::Provisioning { message, done: true } => {
                let seconds = self.progress.end().as_secs_f64();
                self.say(NOTE, "provisioning", &format!("{message} in {seconds:.1} s"));
            }
            Event::Provisioning { message, .. } => {
                self.progress.update(self.env, "provisioning", "", message, (0, 0));
            }
            Event::Pulling { image, current, total } => {
                self.progress.update(self.env, "pulling", image, image, (*current, *total));
            }
            Event::Push { bytes, total, layers } => {
                self.progress.update(self.env, "pushing", "", &count(*layers, "layer"), (*bytes, *total));
            }
            Event::Upload { bytes, total } => {
                self.progress.update(self.env, "uploading", "", &size(*total), (*bytes, *total));
            }
            _ => {}
        }
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
            Event::Reloading { changed } => self.say(NOTE, "reloading", &several(changed)),
            Event::Kept { reason } => {
                self.say(WARNING, "warning", &format!("keeping the running server: {reason}"));
            }
            Event::Crashed(crash) => self.crashed(crash),
            // The failure itself is an error, or a note if a change may fix it.
            Event::Failed { last_lines, .. } => self.quote(last_lines),
            Event::Note { message } => self.say(NOTE, "note", message),
            Event::Warning { message } => self.say(WARNING, "warning", message),
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
            Event::Built { id, .. } => ("built", id.clone()),
            Event::Pushed { image } => ("pushed", image.clone()),
            Event::Packed { files, bytes } => {
                let files = usize::try_from(*files).unwrap_or(usize::MAX);
                ("packed", format!("{}, {}", count(files, "file"), size(*bytes)))
            }
            Event::Uploaded { bytes, .. } => ("uploaded", size(*bytes)),
            Event::Revision { revision_id, .. } => ("revision", revision_id.clone()),
            Event::Status { status, seconds } => ("status", format!("{status} after {seconds:.0} s")),
            Event::Entry { message, .. } => return self.quote(&[message.trim_end().to_owned()]),
            Event::Result { status, name, deployment_id, revision_id, url } => {
                // A failure is reported as an error.
                if matches!(*status, "deployed" | "submitted") {
                    let rows = [("URL", url.as_ref()), ("deployment", Some(deployment_id))];
                    self.deployed(status, name, rows.into_iter().chain([("revision", Some(revision_id))]));
                }
                return;
            }
            _ => return,
        };
        self.say(NOTE, word, &visible_line(&text));
    }

    fn deployed<'b>(
        &mut self,
        status: &str,
        name: &str,
        rows: impl Iterator<Item = (&'b str, Option<&'b String>)>,
    ) {
        let mut text = format!("{} {}", paint(&self.env.out, HEADING, status), visible_line(name));
        for (name, value) in rows {
            text.extend(value.map(|value| format!("\n  {name:<12}{}", visible_line(value))));
        }
        self.result(&text);
    }

    fn say(&mut self, style: Style, word: &str, text: &str) {
        say(self.env, style, word, text);
    }

    /// Prints a line on stdout.
    fn result(&mut self, line: &str) {
        let out = &mut self.env.out;
        out.write(&format!("{line}\n")).and_then(|()| out.flush()).ok();
    }

    fn quote(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.env.print(&format!("  | {}", visible_line(line))));
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
            self.say(NOTE, "note", "it starts again when something changes");
        }
    }

    fn changed(&mut self, service: &str, change: Change) {
        let change = json!(change);
        self.env.print(&format!("{:>9}  {service}", change.as_str().unwrap_or_default()));
    }

    fn ready(&mut self, urls: &Urls, milliseconds: u64) {
        let places = [
            ("API", Some(&*urls.api)),
            ("docs", urls.docs.as_deref()),
            ("studio", Some(&*urls.studio)),
            ("public", urls.public.as_deref()),
            ("debugger", urls.debugger.as_deref()),
        ];
        let is_known = self.urls.replace(urls.clone()).as_ref() == Some(urls);
        ready(&mut self.env.out, milliseconds, if is_known { &[] } else { &places });
    }
}
