//! The two sides that [`decide`](super::decide) compares: what is wanted, and what there is.
//!
//! Every [`Duration`] in the observed state is a time on the monotonic clock of this process, counted from its start. The
//! wall clock decides nothing, so it may jump; after a restart, every limit begins again.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

pub(super) use crate::store::state::{Desired, Phase, Revision, Scale, Source};

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

/// The observed state.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// The containers of this host.
    pub(super) containers: Vec<Container>,
    /// The tags of the images of this host.
    pub(super) images: HashSet<String>,
    /// By ID of a revision: the time at which its last build, pull, creation or start ended.
    pub(super) attempted: HashMap<String, Duration>,
    /// By ID of a deployment or a revision: the time of the last request to its host.
    pub(super) requested: HashMap<String, Duration>,
    /// By ID of a deployment whose number of replicas may change: its load.
    pub(super) loads: HashMap<String, Load>,
}

/// The number of open requests of a deployment, as an average over a short time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// The present average.
    pub(super) present: usize,
    /// The highest average over the stabilization window; `None` if it was not observed that long.
    pub(super) highest: Option<usize>,
}

/// A container of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    /// Its name, which is its key.
    pub(super) name: String,
    /// ID of its deployment.
    pub(super) deployment: String,
    /// ID of its revision.
    pub(super) revision: String,
    /// Its number in the revision, from 0.
    pub(super) replica: u32,
    /// Its state.
    pub(super) state: State,
    /// The address of its server on this machine, if it runs.
    pub(super) address: Option<SocketAddr>,
    /// The result of the last probe.
    pub(super) health: Health,
    /// Number of open requests, streams and upgraded connections, as the proxy counts them.
    pub(super) open: usize,
    /// The time since which it gets no new requests, if it is being drained.
    pub(super) draining: Option<Duration>,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
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
pub(super) enum Health {
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
    pub(super) fn is_healthy(&self) -> bool {
        matches!((self.state, self.health), (State::Running { .. }, Health::Healthy { .. }))
    }
}
