//! What this process knows beyond the record and the engine. A restart loses it, and limits begin again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use super::load::LoadHistory;
use super::state::{Container, Desired, Health, Load, Observed, State};
use crate::proxy::Routes;
use crate::runner::{ContainerState, ContainerStatus};

/// The memory of the process.
pub(super) struct Memory {
    born: Instant,
    /// By ID of a revision: the time of its last attempt.
    attempted: HashMap<String, Duration>,
    /// By ID of a deployment whose number of replicas may change.
    loads: HashMap<String, LoadHistory>,
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
    /// The state in which its output was read to the end.
    read: Option<ContainerState>,
}

#[derive(Clone, Copy)]
struct Draining {
    since: Duration,
    is_over: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            born: Instant::now(),
            attempted: HashMap::new(),
            loads: HashMap::new(),
            containers: HashMap::new(),
        }
    }
}

impl Memory {
    /// The time since the process started.
    pub(super) fn now(&self) -> Duration {
        self.born.elapsed()
    }

    /// The observed state: what the engine has, with what is known of it. What is known of other things is forgotten.
    pub(super) fn observed(
        &mut self,
        desired: &[Desired],
        statuses: &[ContainerStatus],
        images: Vec<String>,
        routes: &Routes,
    ) -> Observed {
        let names: HashSet<&String> = statuses.iter().map(|status| &status.name).collect();
        self.containers.retain(|name, _| names.contains(name));
        let revisions: HashSet<&String> =
            desired.iter().flat_map(|it| &it.revisions).map(|revision| &revision.id).collect();
        self.attempted.retain(|revision, _| revisions.contains(revision));
        Observed {
            containers: statuses.iter().map(|status| self.container(status, routes)).collect(),
            images: images.into_iter().collect(),
            attempted: self.attempted.clone(),
            requested: self.requested(desired, routes),
            loads: self.loads(desired, routes),
        }
    }

    /// The times of the last requests to deployments, and to their active revisions.
    fn requested(&self, desired: &[Desired], routes: &Routes) -> HashMap<String, Duration> {
        let now = self.now();
        let last = |id: &String| {
            let activity = routes.activity(id)?;
            let idle = if activity.is_wanted { Some(Duration::ZERO) } else { activity.idle };
            Some((id.clone(), now.saturating_sub(idle?)))
        };
        desired.iter().flat_map(|it| [Some(&it.id), it.active.as_ref()]).flatten().filter_map(last).collect()
    }

    /// The loads of the deployments whose number of replicas may change.
    fn loads(&mut self, desired: &[Desired], routes: &Routes) -> HashMap<String, Load> {
        let now = self.now();
        let is_scaled = |it: &&Desired| !it.is_deleted && it.scale.least() < it.scale.most();
        let scaled: HashMap<&String, &Desired> =
            desired.iter().filter(is_scaled).map(|it| (&it.id, it)).collect();
        self.loads.retain(|id, _| scaled.contains_key(id));
        let open = |id: &String| routes.activity(id).map_or(0, |activity| activity.open);
        let mut load = |(id, it): (&String, &Desired)| {
            let open = open(id) + it.active.as_ref().map_or(0, open);
            (id.clone(), self.loads.entry(id.clone()).or_default().sample(now, open))
        };
        scaled.into_iter().map(&mut load).collect()
    }

    fn container(&mut self, status: &ContainerStatus, routes: &Routes) -> Container {
        let now = self.now();
        let known = self.containers.entry(status.name.clone()).or_default();
        let state = match status.state {
            ContainerState::Created => State::Created,
            ContainerState::Running => State::Running { since: *known.running_since.get_or_insert(now) },
            ContainerState::Exited { code, ran } => State::Exited { code, ran },
            ContainerState::Broken => State::Broken,
        };
        if status.state != ContainerState::Running {
            (known.running_since, known.health, known.was_healthy) = (None, None, false);
        }
        Container {
            name: status.name.clone(),
            deployment: status.deployment.clone(),
            revision: status.revision.clone(),
            replica: status.replica,
            state,
            address: status.address,
            health: known.health.unwrap_or(Health::Unknown),
            open: match known.draining {
                // Once it is drained, what is left was cut off.
                Some(draining) => usize::from(!draining.is_over),
                None => status.address.map_or(0, |address| routes.open(address)),
            },
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

    /// Whether the output of a container has to be read: it runs, or ended since it was read.
    pub(super) fn has_output(&self, status: &ContainerStatus) -> bool {
        match status.state {
            ContainerState::Created => false,
            ContainerState::Running => true,
            state => self.containers.get(&status.name).is_none_or(|known| known.read != Some(state)),
        }
    }

    /// Notes that the output of a container was read to the end.
    pub(super) fn read(&mut self, container: &str, state: ContainerState) {
        if let Some(known) = self.containers.get_mut(container) {
            known.read = Some(state);
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
