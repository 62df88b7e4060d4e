//! Single idempotent acts.

use std::time::Duration;

use super::state::Phase;

/// An act that brings the observed state closer to the wanted one. Each may be lost or repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
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
    /// Removes the record and the database of a deleted deployment.
    Forget {
        /// ID of the deployment.
        deployment: String,
    },
}
