//! What happens during a deployment.

use serde::Serialize;

use crate::api::wire::{Deployment, DeploymentType, LogEntry};
use crate::engine::{self, BuildEvent, PushEvent};

/// One event, in the form of `schemas/deploy-events.schema.json`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
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
    /// The image was built.
    Built {
        /// Its ID.
        id: String,
        /// Its names.
        tags: Vec<String>,
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
    /// A log entry of the remote build.
    Log {
        /// ISO 8601.
        time: Option<String>,
        /// Such as `INFO`.
        level: Option<String>,
        /// The text.
        message: String,
    },
    /// Something worth knowing.
    Note {
        /// A lowercase fragment.
        message: String,
    },
    /// Something that is probably wrong.
    Warning {
        /// A lowercase fragment.
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

impl Event {
    pub(super) fn found(deployment: &Deployment) -> Self {
        Self::Found { deployment_id: deployment.id.clone(), name: deployment.name.clone() }
    }

    pub(super) fn log(entry: LogEntry) -> Self {
        Self::Log {
            time: entry.timestamp.as_ref().map(ToString::to_string),
            level: entry.level.map(|level| level.word().to_owned()),
            message: entry.message.unwrap_or_default(),
        }
    }

    pub(super) fn result(
        status: &'static str,
        deployment: &Deployment,
        revision: &str,
        url: Option<String>,
    ) -> Self {
        Self::Result {
            status,
            name: deployment.name.clone(),
            deployment_id: deployment.id.clone(),
            revision_id: revision.to_owned(),
            url,
        }
    }
}

/// What the room asks of its caller while it runs.
pub trait Hooks {
    /// Something happened.
    fn event(&mut self, event: Event);

    /// A local build advanced.
    fn building(&mut self, event: &BuildEvent);

    /// A local build failed.
    fn build_failed(&mut self, error: &engine::Error);

    /// A push advanced.
    fn pushing(&mut self, event: PushEvent);

    /// An upload advanced; both numbers are bytes.
    fn uploading(&mut self, sent: u64, total: u64);

    /// Asks the user whether to create a deployment.
    fn confirm_creation(&mut self, name: &str, kind: &DeploymentType) -> impl Future<Output = bool>;
}
