//! Single idempotent acts.

use std::time::Duration;

use super::state::Phase;
use crate::runner::{ContainerState, ContainerStatus};

/// An act that brings the observed state closer to the wanted one. Each may be lost or repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    /// Changes the phase of a revision by compare-and-set.
    Advance {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
        /// Its present phase.
        from: Phase,
        /// Its next phase.
        to: Phase,
    },
    /// Builds the image of a revision, and records its tag or the failure.
    Build {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
    },
    /// Pulls the image of a revision, or takes the one of an earlier revision, and records its tag.
    Pull {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
        /// Reference or tag of the image.
        image: String,
    },
    /// Creates a container.
    Create {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
        /// Number of the replica.
        replica: u32,
    },
    /// Records the number of attempts, and starts a container.
    Start {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
        /// Name of the container.
        container: String,
        /// Number of failed attempts, with the crash that makes this start necessary.
        attempts: u32,
    },
    /// Probes the server in a container.
    Probe {
        /// Name of the container.
        container: String,
    },
    /// Makes a healthy revision the active one and `DEPLOYED`, in one transaction by compare-and-set; its attempts are
    /// forgotten.
    Switch {
        /// ID of the deployment.
        deployment: String,
        /// ID of the active revision.
        from: Option<String>,
        /// ID of the healthy revision, which is `DEPLOYING`.
        to: String,
    },
    /// Sends no new requests to a container.
    Drain {
        /// Name of the container.
        container: String,
        /// Time that its open requests have.
        grace: Duration,
    },
    /// Stops a container.
    Stop {
        /// Name of the container.
        container: String,
        /// Time after which it is killed.
        grace: Duration,
    },
    /// Removes a container that does not run.
    Remove {
        /// Name of the container.
        container: String,
    },
    /// Makes a revision `DEPLOY_FAILED` by compare-and-set.
    Fail {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
        /// The reason.
        reason: String,
        /// The container whose last lines explain it.
        container: Option<String>,
    },
    /// Removes the tag of the image of a revision, and the record of it.
    RemoveImage {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
        /// The tag.
        image: String,
    },
    /// Records that the image of a revision is gone, so that it is built or pulled again when it is needed.
    ForgetImage {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
    },
    /// Records that the image of the revision that this one repeats is gone, so that its own source is used.
    ForgetKept {
        /// ID of the deployment.
        deployment: String,
        /// ID of the revision.
        revision: String,
    },
    /// Removes the tag of an image that is not recorded, such as that of a build that was killed.
    RemoveUnknownImage {
        /// The tag.
        image: String,
    },
    /// Removes the record and the database of a deleted deployment.
    Forget {
        /// ID of the deployment.
        deployment: String,
    },
}

/// What an act does, and to what. There is at most one act of a key at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    act: &'static str,
    name: String,
}

impl Key {
    pub(super) fn new(act: &'static str, name: &str) -> Self {
        Self { act, name: name.to_owned() }
    }

    /// The container, revision or deployment.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it takes long, and is to be cancelled when it is no longer wanted.
    pub(super) fn is_transfer(&self) -> bool {
        matches!(self.act, "build" | "pull")
    }
}

impl Action {
    /// Its key.
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Advance { revision, .. } => Key::new("advance", revision),
            Self::Build { revision, .. } => Key::new("build", revision),
            Self::Pull { revision, .. } => Key::new("pull", revision),
            Self::Create { revision, replica, .. } => Key::new("create", &format!("{revision} {replica}")),
            Self::Start { container, .. } => Key::new("start", container),
            Self::Probe { container } => Key::new("probe", container),
            Self::Switch { deployment, .. } => Key::new("switch", deployment),
            Self::Drain { container, .. } => Key::new("drain", container),
            Self::Stop { container, .. } => Key::new("stop", container),
            Self::Remove { container } => Key::new("remove", container),
            Self::Fail { revision, .. } => Key::new("fail", revision),
            Self::RemoveImage { revision, .. } => Key::new("remove image", revision),
            Self::ForgetImage { revision, .. } => Key::new("forget image", revision),
            Self::ForgetKept { revision, .. } => Key::new("forget kept image", revision),
            Self::RemoveUnknownImage { image } => Key::new("remove unknown image", image),
            Self::Forget { deployment } => Key::new("forget", deployment),
        }
    }

    /// ID of the deployment that it is about, unless it is about a container only.
    pub(super) fn deployment(&self) -> Option<&str> {
        match self {
            Self::Advance { deployment, .. }
            | Self::Build { deployment, .. }
            | Self::Pull { deployment, .. }
            | Self::Create { deployment, .. }
            | Self::Start { deployment, .. }
            | Self::Switch { deployment, .. }
            | Self::Fail { deployment, .. }
            | Self::RemoveImage { deployment, .. }
            | Self::ForgetImage { deployment, .. }
            | Self::ForgetKept { deployment, .. }
            | Self::Forget { deployment } => Some(deployment),
            Self::Probe { .. }
            | Self::Drain { .. }
            | Self::Stop { .. }
            | Self::Remove { .. }
            | Self::RemoveUnknownImage { .. } => None,
        }
    }

    /// ID of the revision that it is about.
    pub(super) fn revision(&self) -> Option<&str> {
        match self {
            Self::Advance { revision, .. }
            | Self::Build { revision, .. }
            | Self::Pull { revision, .. }
            | Self::Create { revision, .. }
            | Self::Start { revision, .. }
            | Self::Fail { revision, .. }
            | Self::RemoveImage { revision, .. }
            | Self::ForgetImage { revision, .. }
            | Self::ForgetKept { revision, .. } => Some(revision),
            Self::Switch { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Whether it is about this container.
    pub(super) fn concerns(&self, status: &ContainerStatus) -> bool {
        match self {
            Self::Switch { to, .. } => status.revision == *to && status.state == ContainerState::Running,
            Self::Start { container, .. }
            | Self::Probe { container }
            | Self::Drain { container, .. }
            | Self::Stop { container, .. }
            | Self::Remove { container } => status.name == *container,
            _ => false,
        }
    }
}
