//! What this process knows beyond the record and the engine. A restart loses it, and limits begin again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use super::state::{Container, Health, Observed, State};
use crate::proxy::Routes;
use crate::runner::{ContainerStatus, ContainerState};

/// The memory of the process.
pub(super) struct Memory {
    born: Instant,
    /// By ID of a revision: the time of its last attempt.
    attempted: HashMap<String, Duration>,
    /// By name.
    containers: HashMap<String, Known>,
}

/// What is known of a container.
#[derive(Clone, Copy, Default)]
struct Known {
    running_since: Option<Duration>,
    health: Option<Health>,
    /// Whether a probe has succeeded since it runs.
    was_healthy: bool,
    draining: Option<Draining>,
}

#[derive(Clone, Copy)]
struct Draining {
    since: Duration,
    is_over: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self { born: Instant::now(), attempted: HashMap::new(), containers: HashMap::new() }
    }
}

impl Memory {
    /// The time since the process started.
    pub(super) fn now(&self) -> Duration {
        self.born.elapsed()
    }

    /// The observed state: the containers of the engine with what is known of them.
    pub(super) fn observed(&mut self, seen: &[ContainerStatus], routes: &Routes) -> Observed {
        let names: HashSet<&String> = seen.iter().map(|seen| &seen.name).collect();
        self.containers.retain(|name, _| names.contains(name));
        let containers: Vec<Container> = seen.iter().map(|seen| self.container(seen)).collect();
        let mut requested = HashMap::new();
        for deployment in containers.iter().map(|container| &container.deployment) {
            if let Some(idle) = routes.activity(deployment).and_then(|activity| activity.idle) {
                requested.insert(deployment.clone(), self.now().saturating_sub(idle));
            }
        }
        Observed { containers, attempted: self.attempted.clone(), requested }
    }

    fn container(&mut self, seen: &ContainerStatus) -> Container {
        let now = self.now();
        let known = self.containers.entry(seen.name.clone()).or_default();
        let state = match seen.state {
            ContainerState::Created => State::Created,
            ContainerState::Running => State::Running { since: *known.running_since.get_or_insert(now) },
            ContainerState::Exited { code, ran } => State::Exited { code, ran },
            ContainerState::Broken => State::Broken,
        };
        if seen.state != ContainerState::Running {
            (known.running_since, known.health, known.was_healthy) = (None, None, false);
        }
        Container {
            name: seen.name.clone(),
            deployment: seen.deployment.clone(),
            revision: seen.revision.clone(),
            replica: seen.replica,
            state,
            address: seen.address,
            health: known.health.unwrap_or(Health::Unknown),
            open: known.draining.is_some_and(|draining| !draining.is_over).into(),
            draining: known.draining.map(|draining| draining.since),
        }
    }

    /// Notes that an attempt of a revision ended.
    pub(super) fn attempted(&mut self, revision: &str) {
        self.attempted.insert(revision.to_owned(), self.now());
    }

    /// Notes the result of a probe.
    pub(super) fn probed(&mut self, container: &str, succeeded: bool) {
        let at = self.now();
        let known = self.containers.entry(container.to_owned()).or_default();
        known.was_healthy |= succeeded;
        known.health = Some(match (succeeded, known.health) {
            (true, _) => Health::Healthy { at },
            (false, Some(Health::Failing { since, .. })) => Health::Failing { at, since },
            (false, _) => Health::Failing { at, since: at },
        });
    }

    /// Notes that a container gets no new requests; false if that is known.
    pub(super) fn begin_drain(&mut self, container: &str) -> bool {
        let since = self.now();
        let known = self.containers.entry(container.to_owned()).or_default();
        known.draining.replace(Draining { since, is_over: false }).is_none()
    }

    /// Notes that a container has no open requests.
    pub(super) fn drained(&mut self, container: &str) {
        let drain = self.containers.get_mut(container).and_then(|known| known.draining.as_mut());
        if let Some(drain) = drain {
            drain.is_over = true;
        }
    }

    /// Whether a probe of a container has succeeded since it runs.
    pub(super) fn was_healthy(&self, container: &str) -> bool {
        self.containers.get(container).is_some_and(|known| known.was_healthy)
    }

    /// Whether a container gets no new requests.
    pub(super) fn is_draining(&self, container: &str) -> bool {
        self.containers.get(container).is_some_and(|known| known.draining.is_some())
    }
}
