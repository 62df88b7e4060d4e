//! What is told while a project is shipped: in words on stderr, or as JSON on stdout, one event a line, as
//! `schemas/deploy-events.schema.json` has them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::cli::console::{HEADING, NOTE, WARNING, count, paint, visible_line};
use crate::cli::env::Env;
use crate::cli::progress::size;
use crate::engine::{Layer, PushEvent};

/// How often progress is told where nobody watches a line that changes.
const BEAT: Duration = Duration::from_secs(1);

/// Something that happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    /// There is such a deployment.
    Found { deployment_id: String, name: String },
    /// There is one now.
    Created { deployment_id: String, name: String },
    /// What would be done, one step each.
    Would { step: &'static str, message: String },
    /// The image is here.
    Built { id: String, tags: Vec<String> },
    /// The image is in the registry.
    Pushed { image: String },
    /// The source is packed.
    Packed { files: u64, bytes: u64 },
    /// The source is with the service.
    Uploaded { path: String, bytes: u64 },
    /// There is a new revision.
    Revision { deployment_id: String, revision_id: String },
    /// The revision has another status.
    Status { status: String, seconds: f64 },
    /// What the service's build says.
    Log { time: Option<String>, level: Option<String>, message: String },
    /// Something that the user should know.
    Note { message: String },
    /// Something that may be wrong.
    Warning { message: String },
    /// How it ended.
    Result {
        status: &'static str,
        name: String,
        deployment_id: String,
        revision_id: String,
        url: Option<String>,
    },
}

/// Who tells it.
pub(super) struct Voice {
    is_json: bool,
    is_terminal: bool,
}

impl Voice {
    pub(super) fn new(env: &Env, is_json: bool) -> Self {
        Self { is_json, is_terminal: env.err.is_terminal && !is_json }
    }

    pub(super) fn tell(&self, env: &mut Env, event: Event) {
        if self.is_json {
            return line(env, &json!(event));
        }
        let (style, word, text) = match event {
            Event::Found { deployment_id, name } => (NOTE, "deployment", format!("{name} ({deployment_id})")),
            Event::Created { deployment_id, name } => (NOTE, "created", format!("{name} ({deployment_id})")),
            Event::Would { step, message } => {
                return say(env, &format!("{step:<8} {}", visible_line(&message)));
            }
            Event::Built { id, .. } => (NOTE, "built", id),
            Event::Pushed { image } => (NOTE, "pushed", image),
            Event::Packed { files, bytes } => {
                let files = count(usize::try_from(files).unwrap_or(usize::MAX), "file");
                (NOTE, "packed", format!("{files}, {} to send", size(bytes)))
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
                return result(
                    env,
                    status,
                    &name,
                    &[("URL", url), ("deployment", Some(deployment_id)), ("revision", Some(revision_id))],
                );
            }
        };
        env.tell(&format!("{}: {}", paint(&env.err, style, word), visible_line(&text)));
    }

    /// Begins to show a push.
    pub(super) fn push(&self) -> PushProgress {
        PushProgress { bar: self.bar("pushing"), layers: HashMap::new(), is_json: self.is_json, told: None }
    }

    /// Begins to show an upload of so many bytes.
    pub(super) fn upload(&self, total: u64) -> UploadProgress {
        UploadProgress { bar: self.bar("uploading"), total, is_json: self.is_json, told: None }
    }

    fn bar(&self, what: &'static str) -> Option<ProgressBar> {
        let bar = self.is_terminal.then(|| ProgressBar::new(0))?;
        let style = ProgressStyle::with_template("{prefix} {bar:30} {bytes} of {total_bytes} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(what);
        Some(bar)
    }
}

/// The result goes to stdout; a failure is told as an error.
fn result(env: &mut Env, status: &str, name: &str, rows: &[(&str, Option<String>)]) {
    if !matches!(status, "deployed" | "submitted") {
        return;
    }
    let mut text = format!("{} {}\n", paint(&env.out, HEADING, status), visible_line(name));
    for (name, value) in rows {
        text.extend(value.as_ref().map(|value| format!("  {name:<12}{}\n", visible_line(value))));
    }
    env.out.write(&text).and_then(|()| env.out.flush()).ok();
}

fn say(env: &mut Env, text: &str) {
    env.out.write(&format!("{text}\n")).and_then(|()| env.out.flush()).ok();
}

fn line(env: &mut Env, value: &serde_json::Value) {
    say(env, &value.to_string());
}

/// How far a push is.
pub(super) struct PushProgress {
    bar: Option<ProgressBar>,
    layers: HashMap<String, (u64, u64)>,
    is_json: bool,
    told: Option<Instant>,
}

impl PushProgress {
    pub(super) fn show(&mut self, env: &mut Env, event: PushEvent) {
        let (id, state) = match event {
            PushEvent::Layer { id, state } => (id, state),
            PushEvent::Again { reason } => {
                let message = format!("{reason}; trying again");
                self.layers.clear();
                return Voice { is_json: self.is_json, is_terminal: false }
                    .tell(env, Event::Warning { message });
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
        let layers = count(self.layers.len(), "layer");
        match &self.bar {
            Some(bar) => advance(bar, sums, layers),
            None if self.is_json => beat(env, &mut self.told, "push", sums),
            None => {}
        }
    }

    pub(super) fn end(self) {
        self.bar.into_iter().for_each(|bar| bar.finish_and_clear());
    }
}

/// How far an upload is.
pub(super) struct UploadProgress {
    bar: Option<ProgressBar>,
    total: u64,
    is_json: bool,
    told: Option<Instant>,
}

impl UploadProgress {
    pub(super) fn show(&mut self, env: &mut Env, bytes: u64) {
        let sums = (bytes, self.total);
        match &self.bar {
            Some(bar) => advance(bar, sums, String::new()),
            None if self.is_json => beat(env, &mut self.told, "upload", sums),
            None => {}
        }
    }

    pub(super) fn end(&mut self) {
        self.bar.take().into_iter().for_each(|bar| bar.finish_and_clear());
    }
}

fn advance(bar: &ProgressBar, (current, total): (u64, u64), note: String) {
    bar.set_length(total);
    bar.set_position(current);
    bar.set_message(note);
}

/// Tells how far it is, now and then.
fn beat(env: &mut Env, told: &mut Option<Instant>, what: &str, (current, total): (u64, u64)) {
    if told.is_none_or(|told| told.elapsed() >= BEAT) {
        *told = Some(Instant::now());
        line(env, &json!({ "event": what, "bytes": current, "total": total }));
    }
}
