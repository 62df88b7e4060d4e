//! The two sides that [`decide`](super::decide) compares: what is wanted, and what there is.
//!
//! Every [`Duration`] in the observed state is a time on the monotonic clock of this process, counted from its start. The
//! wall clock decides nothing, so it may jump; after a restart, every limit begins again.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

use agentcli::api::wire::RevisionStatus;

use crate::proxy::HostName;

/// A deployment as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// UUID.
    pub id: String,
    /// ID of its tenant.
    pub tenant: String,
    /// Name, unique on this host.
    pub name: String,
    /// Hosts that it is reached by besides its name.
    pub hosts: Vec<HostName>,
    /// Whether the user deleted it; it is forgotten when nothing of it is left.
    pub is_deleted: bool,
    /// Number of replicas.
    pub scale: Scale,
    /// Time that its server has to finish open requests, and then its runs.
    pub grace: Duration,
    /// Revisions, oldest first.
    pub revisions: Vec<Revision>,
    /// ID of the revision that gets the traffic.
    pub active: Option<String>,
}

/// Limits of the number of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Minimum; 0 stops an idle deployment until the next request.
    pub min: u32,
    /// Maximum.
    pub max: u32,
}

/// Maximum number of replicas, whatever is recorded.
const MAX_REPLICAS: u32 = 100;

/// Number of open requests for each replica, beyond which there are more: a server runs 10 runs at a time by default.
pub(super) const TARGET: usize = 10;

impl Scale {
    /// Minimum number of replicas of a deployment that is in use.
    pub(super) fn least(self) -> usize {
        usize::try_from(self.min.min(self.max).clamp(1, MAX_REPLICAS)).unwrap_or(usize::MAX)
    }

    /// Maximum number of replicas.
    pub(super) fn most(self) -> usize {
        usize::try_from(self.max.clamp(1, MAX_REPLICAS)).unwrap_or(usize::MAX)
    }

    /// Number of replicas of a deployment in use that has `present` ones. More are started as soon as the load needs
    /// them, and they are stopped when the highest load of the stabilization window does not.
    pub(super) fn replicas(self, present: usize, load: Load) -> usize {
        let needed = load.present.div_ceil(TARGET);
        let was_needed = load.highest.map_or(usize::MAX, |highest| highest.div_ceil(TARGET).max(needed));
        present.clamp(needed, was_needed).clamp(self.least(), self.most())
    }
}

/// A revision as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// UUID.
    pub id: String,
    /// Number in its deployment, from 1.
    pub number: u64,
    /// Status.
    pub phase: Phase,
    /// Where its image comes from.
    pub source: Source,
    /// The tag that its image has, or would have.
    pub tag: String,
    /// The same, once the image is built or pulled and until it is removed.
    pub image: Option<String>,
    /// Number of failed pulls and starts since it was last switched to.
    pub attempts: u32,
    /// Reason of the last failure.
    pub last_error: Option<String>,
}

/// The source of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is built.
    Build,
    /// It is pulled by this reference.
    Image(String),
    /// It is the image of an earlier revision, by its tag.
    Kept(String),
}

/// Status of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
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
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Creating | Self::Queued)
    }

    /// Whether it is being built or deployed, which one revision of a deployment is at a time.
    pub fn is_current(self) -> bool {
        matches!(self, Self::AwaitingBuild | Self::Building | Self::AwaitingDeploy | Self::Deploying)
    }

    /// Whether a revision may go from this phase to `next`.
    pub fn may_become(self, next: Self) -> bool {
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

/// The observed state.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The containers of this host.
    pub containers: Vec<Container>,
    /// The tags of the images of this host.
    pub images: HashSet<String>,
    /// By ID of a revision: the time at which its last build, pull, creation or start ended.
    pub attempted: HashMap<String, Duration>,
    /// By ID of a deployment or a revision: the time of the last request to its host.
    pub requested: HashMap<String, Duration>,
    /// By ID of a deployment whose number of replicas may change: its load.
    pub loads: HashMap<String, Load>,
}

/// The number of open requests of a deployment, as an average over a short time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The present average.
    pub present: usize,
    /// The highest average over the stabilization window; `None` if it was not observed that long.
    pub highest: Option<usize>,
}

/// A container of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name, which is its key.
    pub name: String,
    /// ID of its deployment.
    pub deployment: String,
    /// ID of its revision.
    pub revision: String,
    /// Its number in the revision, from 0.
    pub replica: u32,
    /// Its state.
    pub state: State,
    /// The address of its server on this machine, if it runs.
    pub address: Option<SocketAddr>,
    /// The result of the last probe.
    pub health: Health,
    /// Number of open requests, streams and upgraded connections, as the proxy counts them.
    pub open: usize,
    /// The time since which it gets no new requests, if it is being drained.
    pub draining: Option<Duration>,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was never started.
    Created,
    /// It runs.
    Running {
        /// The time since which it does, or is known to.
        since: Duration,
    },
    /// It ended.
    Exited {
        /// Its exit code.
        code: i64,
        /// How long it ran.
        ran: Duration,
    },
    /// It can only be removed.
    Broken,
}

/// The health of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It was not probed.
    Unknown,
    /// The last probe succeeded.
    Healthy {
        /// The time of the probe.
        at: Duration,
    },
    /// The last probe failed.
    Failing {
        /// The time of the probe.
        at: Duration,
        /// The time of the first probe that failed since the last one that succeeded.
        since: Duration,
    },
}

impl Container {
    /// Whether it runs and its last probe succeeded.
    pub fn is_healthy(&self) -> bool {
        matches!((self.state, self.health), (State::Running { .. }, Health::Healthy { .. }))
    }
}
