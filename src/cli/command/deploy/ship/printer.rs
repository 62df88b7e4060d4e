//! The events of a deployment: in words on stderr, or as JSON Lines on stdout, in the form of
//! `schemas/deploy-events.schema.json`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::api::wire::DeploymentType;
use crate::cli::ask::confirm;
use crate::cli::console::{HEADING, NOTE, WARNING, count, paint, visible_line};
use crate::cli::env::Env;
use crate::cli::image::{explain, warn_if_large};
use crate::cli::progress::{Progress, Style, size};
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent, Layer, PushEvent};
use crate::ship::{Event, Hooks};

/// Interval between the progress events of a push or an upload in JSON.
const INTERVAL: Duration = Duration::from_secs(1);

/// Prints the events of one run.
pub(super) struct Printer<'a> {
    env: &'a mut Env,
    /// The configuration, which explains a build that failed.
    source: &'a Source,
    is_json: bool,
    /// Whether a deployment is created without asking.
    is_confirmed: bool,
    build: Option<Progress>,
    transfer: Option<Transfer>,
    layers: HashMap<String, (u64, u64)>,
}

/// The progress of a push or an upload.
struct Transfer {
    /// On a terminal.
    bar: Option<ProgressBar>,
    /// When progress was last printed in JSON.
    printed: Option<Instant>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(env: &'a mut Env, source: &'a Source, is_json: bool, is_confirmed: bool) -> Self {
        let (build, transfer, layers) = Default::default();
        Self { env, source, is_json, is_confirmed, build, transfer, layers }
    }

    /// Takes the progress of what is done off the terminal.
    fn end_progress(&mut self) {
        if let Some(build) = self.build.take() {
            build.end();
        }
        if let Some(bar) = self.transfer.take().and_then(|transfer| transfer.bar) {
            bar.finish_and_clear();
        }
        self.layers.clear();
    }

    fn advance(
        &mut self,
        event: &'static str,
        verb: &'static str,
        (current, total): (u64, u64),
        note: String,
    ) {
        let shows_bar = self.env.err.is_terminal && !self.is_json;
        let new = || Transfer { bar: shows_bar.then(|| bar(verb)), printed: None };
        let transfer = self.transfer.get_or_insert_with(new);
        if let Some(bar) = &transfer.bar {
            bar.set_length(total);
            bar.set_position(current);
            bar.set_message(note);
        }
        if self.is_json && transfer.printed.is_none_or(|printed| printed.elapsed() >= INTERVAL) {
            transfer.printed = Some(Instant::now());
            print(self.env, &json!({ "event": event, "bytes": current, "total": total }).to_string());
        }
    }

    fn in_words(&mut self, event: Event) {
        let env = &mut *self.env;
        let (style, word, text) = match event {
            Event::Found { deployment_id, name } => (NOTE, "deployment", format!("{name} ({deployment_id})")),
            Event::Created { deployment_id, name } => (NOTE, "created", format!("{name} ({deployment_id})")),
            Event::Would { step, message } => {
                return print(env, &format!("{step:<8} {}", visible_line(&message)));
            }
            Event::Built { id, .. } => (NOTE, "built", id),
            Event::Pushed { image } => (NOTE, "pushed", image),
            Event::Packed { files, bytes } => {
                let files = count(usize::try_from(files).unwrap_or(usize::MAX), "file");
                (NOTE, "packed", format!("{files}, {}", size(bytes)))
            }
            Event::Uploaded { bytes, .. } => (NOTE, "uploaded", size(bytes)),
            Event::Revision { revision_id, .. } => (NOTE, "revision", revision_id),
            Event::Status { status, seconds } => (NOTE, "status", format!("{status} after {seconds:.0} s")),
            Event::Log { message, .. } => {
                return env.tell(&format!("  | {}", visible_line(message.trim_end())));
            }
            Event::Note { message } => (NOTE, "note", message),
            Event::Warning { message } => (WARNING, "warning", message),
            Event::Result { status, name, deployment_id, revision_id, url } => {
                let rows =
                    [("URL", url), ("deployment", Some(deployment_id)), ("revision", Some(revision_id))];
                return result(env, status, &name, &rows);
            }
        };
        env.tell(&format!("{}: {}", paint(&env.err, style, word), visible_line(&text)));
    }
}

impl Drop for Printer<'_> {
    fn drop(&mut self) {
        self.end_progress();
    }
}

impl Hooks for Printer<'_> {
    fn event(&mut self, event: Event) {
        // A note may come in the middle of an upload.
        if !matches!(event, Event::Note { .. } | Event::Warning { .. }) {
            self.end_progress();
        }
        match self.is_json {
            true => print(self.env, &json!(event).to_string()),
            false => self.in_words(event),
        }
    }

    fn building(&mut self, event: &BuildEvent) {
        let style = if self.is_json { Style::Json } else { Style::Auto };
        self.build.get_or_insert_with(|| Progress::new(style, self.env)).show(self.env, event);
        warn_if_large(self.env, event);
    }

    fn build_failed(&mut self, error: &engine::Error) {
        self.end_progress();
        explain(self.env, error, self.source);
    }

    fn pushing(&mut self, event: PushEvent) {
        let (id, state) = match event {
            PushEvent::Layer { id, state } => (id, state),
            PushEvent::Again { reason } => {
                self.layers.clear();
                return self.event(Event::Warning { message: format!("{reason}; retrying the push") });
            }
        };
        let bytes = self.layers.entry(id).or_default();
        match state {
            Layer::Waiting => {}
            Layer::Pushing { current, total } => *bytes = (current, total.max(current)),
            Layer::There => *bytes = (0, 0),
            Layer::Pushed => bytes.0 = bytes.1,
        }
        let sums = self.layers.values().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        self.advance("push", "pushing", sums, count(self.layers.len(), "layer"));
    }

    fn uploading(&mut self, sent: u64, total: u64) {
        self.advance("upload", "uploading", (sent, total), String::new());
    }

    async fn confirm_creation(&mut self, name: &str, kind: &DeploymentType) -> bool {
        if self.is_confirmed || self.is_json || !self.env.can_ask() {
            return true;
        }
        let question = format!("Deployment `{name}` does not exist. Create it, with type {}?", kind.word());
        confirm(self.env, &question, true).await
    }
}

fn bar(verb: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{prefix} {bar:30} {bytes} of {total_bytes} {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(verb);
    bar
}

/// A success is a result, on stdout; a failure is reported as an error.
fn result(env: &mut Env, status: &str, name: &str, rows: &[(&str, Option<String>)]) {
    if !matches!(status, "deployed" | "submitted") {
        return;
    }
    let mut text = format!("{} {}", paint(&env.out, HEADING, status), visible_line(name));
    for (name, value) in rows {
        text.extend(value.as_ref().map(|value| format!("\n  {name:<12}{}", visible_line(value))));
    }
    print(env, &text);
}

fn print(env: &mut Env, text: &str) {
    env.out.write(&format!("{text}\n")).and_then(|()| env.out.flush()).ok();
}
