//! Deployments and revisions as the reconciler reads them.

use std::time::Duration;

use agentcli::api::wire::RevisionStatus;

use crate::net::host_name::HostName;

/// A deployment as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Desired {
    /// UUID.
    pub(crate) id: String,
    /// ID of its tenant.
    pub(crate) tenant: String,
    /// Name, unique on this host.
    pub(crate) name: String,
    /// Hosts that it is reached by besides its name.
    pub(crate) hosts: Vec<HostName>,
    /// Whether the user deleted it; it is forgotten when nothing of it is left.
    pub(crate) is_deleted: bool,
    /// Number of replicas.
    pub(crate) scale: Scale,
    /// Time that its server has to finish open requests, and then its runs.
    pub(crate) grace: Duration,
    /// Revisions, oldest first.
    pub(crate) revisions: Vec<Revision>,
    /// ID of the revision that gets the traffic.
    pub(crate) active: Option<String>,
}

/// Limits of the number of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Minimum; 0 stops an idle deployment until the next request.
    pub(crate) min: u32,
    /// Maximum.
    pub(crate) max: u32,
}

/// A revision as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    /// UUID.
    pub(crate) id: String,
    /// Number in its deployment, from 1.
    pub(crate) number: u64,
    /// Status.
    pub(crate) phase: Phase,
    /// Where its image comes from.
    pub(crate) source: Source,
    /// The tag that its image has, or would have.
    pub(crate) tag: String,
    /// The same, once the image is built or pulled and until it is removed.
    pub(crate) image: Option<String>,
    /// Number of failed pulls and starts since it was last switched to.
    pub(crate) attempts: u32,
    /// Reason of the last failure.
    pub(crate) last_error: Option<String>,
}

/// The source of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// It is built.
    Build,
    /// It is pulled by this reference.
    Image(String),
    /// It is the image of an earlier revision, by its tag.
    Kept(String),
}

/// Status of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It was just created.
    Creating,
    /// It waits for another revision of its deployment.
    Queued,
    /// It waits to be built.
    AwaitingBuild,
    /// It is being built.
    Building,
    /// It waits to be deployed.
    AwaitingDeploy,
    /// Its image is pulled, and its containers are started and probed.
    Deploying,
    /// It got the traffic, and has it until another revision is active.
    Deployed,
    /// A user stopped it.
    Interrupted,
    /// A newer one replaced it while it waited.
    Skipped,
    /// It could not be created.
    CreateFailed,
    /// It could not be built.
    BuildFailed,
    /// It could not be deployed.
    DeployFailed,
}

impl Phase {
    /// Whether it waits for its turn.
    pub(crate) fn is_waiting(self) -> bool {
        matches!(self, Self::Creating | Self::Queued)
    }

    /// Whether it is being built or deployed, which one revision of a deployment is at a time.
    pub(crate) fn is_current(self) -> bool {
        matches!(self, Self::AwaitingBuild | Self::Building | Self::AwaitingDeploy | Self::Deploying)
    }

    /// Whether a revision may go from this phase to `next`.
    pub(crate) fn may_become(self, next: Self) -> bool {
        match next {
            Self::Creating => false,
            Self::Queued | Self::CreateFailed => self == Self::Creating,
            Self::AwaitingBuild | Self::Skipped => self.is_waiting(),
            Self::Building => self == Self::AwaitingBuild,
            Self::AwaitingDeploy => self.is_waiting() || self == Self::Building,
            Self::BuildFailed => self == Self::Building,
            Self::Deploying => self == Self::AwaitingDeploy,
            Self::Deployed | Self::DeployFailed => self == Self::Deploying,
            Self::Interrupted => self.is_waiting() || self.is_current(),
        }
    }
}

impl From<&RevisionStatus> for Phase {
    fn from(status: &RevisionStatus) -> Self {
        match status {
            RevisionStatus::Creating => Self::Creating,
            RevisionStatus::Queued => Self::Queued,
            RevisionStatus::AwaitingBuild => Self::AwaitingBuild,
            RevisionStatus::Building => Self::Building,
            RevisionStatus::AwaitingDeploy => Self::AwaitingDeploy,
            RevisionStatus::Deploying => Self::Deploying,
            RevisionStatus::Deployed => Self::Deployed,
            RevisionStatus::Skipped => Self::Skipped,
            RevisionStatus::CreateFailed => Self::CreateFailed,
            RevisionStatus::BuildFailed => Self::BuildFailed,
            RevisionStatus::DeployFailed => Self::DeployFailed,
            // This service writes no others.
            RevisionStatus::Interrupted | RevisionStatus::Unknown | RevisionStatus::Other(_) => {
                Self::Interrupted
            }
        }
    }
}

impl From<Phase> for RevisionStatus {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Creating => Self::Creating,
            Phase::Queued => Self::Queued,
            Phase::AwaitingBuild => Self::AwaitingBuild,
            Phase::Building => Self::Building,
            Phase::AwaitingDeploy => Self::AwaitingDeploy,
            Phase::Deploying => Self::Deploying,
            Phase::Deployed => Self::Deployed,
            Phase::Interrupted => Self::Interrupted,
            Phase::Skipped => Self::Skipped,
            Phase::CreateFailed => Self::CreateFailed,
            Phase::BuildFailed => Self::BuildFailed,
            Phase::DeployFailed => Self::DeployFailed,
        }
    }
}
