//! The events of long-running commands, as plain data, and their receiver. As JSON, each event is one object.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::urls::Urls;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Packages are being installed: once at the start, then for each step.
    Provisioning {
        /// The current step, a fragment.
        message: String,
        /// Whether it is the last.
        done: bool,
    },
    /// An image is being pulled.
    Pulling {
        /// The image.
        image: String,
        /// Bytes downloaded.
        current: u64,
        /// Bytes known of; 0 at first.
        total: u64,
    },
    /// The server's process starts.
    Starting {
        /// The program that runs it.
        program: PathBuf,
    },
    /// A service's container has changed.
    Service {
        /// The service.
        service: String,
        /// The change.
        change: Change,
    },
    /// The server answers; with `--wait`, all services are healthy.
    Ready {
        /// Its URLs.
        #[serde(flatten)]
        urls: Urls,
        /// Milliseconds since the start, or since the change was noticed.
        milliseconds: u64,
    },
    /// The server restarts for a change.
    Reloading {
        /// The changed files, relative to the configuration's directory.
        changed: Vec<String>,
    },
    /// A change breaks the project; the running server is kept.
    Kept {
        /// The reason.
        reason: String,
        /// The lines about it that the project's code printed, if it was loaded.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        last_lines: Vec<String>,
        /// How to fix it, if known, as an imperative.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// The server's process exited by itself.
    Crashed(Crash),
    /// A service exited by itself, or is unhealthy.
    Failed {
        /// The service.
        service: String,
        /// Its exit code or state, as a fragment.
        status: String,
        /// The last lines that it printed.
        last_lines: Vec<String>,
    },
    /// Everything that was to be stopped has stopped.
    Stopped,
    /// Something worth knowing.
    Note {
        /// A fragment.
        message: String,
    },
    /// Something probably unintended.
    Warning {
        /// A fragment.
        message: String,
    },
    /// A run of a graph ended.
    Run(Run),
    /// The server refused a request.
    Request(Request),
    /// A line that the server, a service or an installer printed.
    Log {
        /// The service, if there are several.
        #[serde(skip_serializing_if = "Option::is_none")]
        service: Option<String>,
        /// The line.
        line: String,
    },

    // Those of `deploy`, in the form of `schemas/deploy-events.schema.json`:
    /// The deployment exists.
    Found {
        /// Its ID.
        deployment_id: String,
        /// Its name.
        name: String,
    },
    /// The deployment was created.
    Created {
        /// Its ID.
        deployment_id: String,
        /// Its name.
        name: String,
    },
    /// A step of a dry run.
    Would {
        /// A verb, such as `create`.
        step: &'static str,
        /// The verb's object.
        message: String,
    },
    /// The fields of objects that a dry run would change in a cluster.
    Changes {
        /// Them.
        changes: Vec<FieldChange>,
    },
    /// The image was built.
    Built {
        /// Its ID.
        id: String,
        /// Its names.
        tags: Vec<String>,
    },
    /// The push of the image advanced.
    Push {
        /// Bytes sent.
        bytes: u64,
        /// Bytes to send, as far as known.
        total: u64,
        /// Number of layers.
        #[serde(skip)]
        layers: usize,
    },
    /// The image was pushed.
    Pushed {
        /// The image with its digest.
        image: String,
    },
    /// The source was packed.
    Packed {
        /// Number of files.
        files: u64,
        /// Size of the archive.
        bytes: u64,
    },
    /// The upload of the archive advanced.
    Upload {
        /// Bytes sent.
        bytes: u64,
        /// Bytes to send.
        total: u64,
    },
    /// The archive was uploaded.
    Uploaded {
        /// Its path at the service.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// A revision was created.
    Revision {
        /// The deployment.
        deployment_id: String,
        /// The revision.
        revision_id: String,
    },
    /// The status of the revision changed.
    Status {
        /// The new status.
        status: String,
        /// Time since the revision was created.
        seconds: f64,
    },
    /// A log entry of the deployment service.
    #[serde(rename = "log")]
    Entry {
        /// ISO 8601.
        time: Option<String>,
        /// Such as `INFO`.
        level: Option<String>,
        /// The text.
        message: String,
    },
    /// The end of the run.
    Result {
        /// `deployed`, `submitted`, `pending` or `failed`.
        status: &'static str,
        /// Name of the deployment.
        name: String,
        /// ID of the deployment.
        deployment_id: String,
        /// ID of the revision.
        revision_id: String,
        /// URL of the deployed server.
        url: Option<String>,
    },
}

/// A run of a graph that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Local time of its end, `HH:MM:SS`.
    pub time: String,
    /// Its ID.
    pub run: String,
    /// The graph.
    pub graph: String,
    /// `ok`, `failed`, `interrupted` or `stopped`.
    pub status: String,
    /// Its duration in milliseconds.
    pub milliseconds: u64,
    /// The nodes that ran, in the order of their starts; at most 50.
    pub nodes: Vec<String>,
    /// The node that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its exception: type and message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The place in the user's source that raised it: `file:line`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A request that the server refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Local time of the answer, `HH:MM:SS`.
    pub time: String,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// The status of the answer, from 400.
    pub status: u16,
    /// The detail of the answer.
    pub detail: String,
}

/// A change of a service's container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Ended with success, as it should.
    Completed,
    /// Created and started.
    Created,
    /// Healthy.
    Healthy,
    /// Replaced and started: its definition changed, or that was asked for.
    Recreated,
    /// Removed.
    Removed,
    /// Started.
    Started,
    /// Stopped.
    Stopped,
    /// Already running as defined.
    Unchanged,
}

impl Event {
    /// A change breaks the project before any of its code runs.
    pub fn kept(reason: String) -> Self {
        Self::Kept { reason, last_lines: Vec::new(), hint: None }
    }
}

/// How the server's process exited by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// Its exit code or signal, as a fragment.
    pub status: String,
    /// The place in the user's source that caused it, if known: `file:line: reason`.
    pub cause: Option<String>,
    /// The lines about the cause, or else the last lines that it printed.
    pub last_lines: Vec<String>,
    /// How to fix it, if known, as an imperative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the next change of the source starts it again.
    #[serde(skip)]
    pub restarts: bool,
}

/// Receives the events of a long-running command.
pub trait Reporter {
    /// Reports an event.
    fn event(&mut self, event: &Event);

    /// Called several times a second while a server runs.
    fn tick(&mut self) {}

    /// Whether nobody reads the events any more.
    fn is_closed(&self) -> bool {
        false
    }

    /// Reports something worth knowing, as a fragment.
    fn note(&mut self, message: String) {
        self.event(&Event::Note { message });
    }

    /// Reports something probably unintended, as a fragment.
    fn warn(&mut self, message: String) {
        self.event(&Event::Warning { message });
    }

    /// Reports a change of a service's container.
    fn service(&mut self, service: &str, change: Change) {
        self.event(&Event::Service { service: service.to_owned(), change });
    }

    /// Reports lines of the only server.
    fn lines(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.event(&Event::Log { service: None, line }));
    }

    /// Reports lines, each with its service.
    fn lines_of_services(&mut self, lines: Vec<(String, String)>) {
        lines
            .into_iter()
            .for_each(|(service, line)| self.event(&Event::Log { service: Some(service), line }));
    }
}

/// A field of an object in a cluster that a deploy would change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// `create`, `update` or `delete`.
    pub action: &'static str,
    /// Kind and name of the object.
    pub object: String,
    /// Path with dots; empty for the whole object.
    pub field: String,
    /// The values, which are shortened; empty if there is none, and for secrets.
    pub before: String,
    #[allow(missing_docs, reason = "see `before`")]
    pub after: String,
}

impl FieldChange {
    /// A change of a whole object.
    pub fn whole(action: &'static str, object: String) -> Self {
        Self { action, object, field: String::new(), before: String::new(), after: String::new() }
    }
}
