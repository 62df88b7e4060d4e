//! The routes of the proxy, as they follow from the state.

use std::collections::HashSet;
use std::net::SocketAddr;

use super::memory::Memory;
use super::state::{Container, Desired, Observed, Phase, Revision};
use crate::proxy::{HostName, Route, Routes};

/// The routes that were published, to remove those that are over.
#[derive(Default)]
pub(super) struct Published(HashSet<String>);

impl Published {
    /// Publishes the routes of all deployments, `NAME.localhost` and their own hosts, and of revisions with containers,
    /// `rNUMBER.NAME.localhost`. Returns the hosts that two deployments want.
    pub(super) fn update(
        &mut self,
        routes: &Routes,
        desired: &[Desired],
        observed: &Observed,
        memory: &Memory,
    ) -> Vec<String> {
        let (mut current, mut taken) = (HashSet::new(), Vec::new());
        let mut set = |id: &str, hosts: Vec<HostName>, route: Route| {
            current.insert(id.to_owned());
            taken.extend(routes.set(id, &hosts, route).err().map(|error| error.to_string()));
        };
        for deployment in desired.iter().filter(|deployment| !deployment.is_deleted) {
            let own = HostName::parse(&format!("{}.localhost", deployment.name)).ok();
            let hosts = own.into_iter().chain(deployment.hosts.iter().cloned()).collect();
            set(&deployment.id, hosts, route(deployment, observed, memory));
            for revision in &deployment.revisions {
                let host = HostName::parse(&format!("r{}.{}.localhost", revision.number, deployment.name));
                let host: Vec<HostName> = host.into_iter().collect();
                if deployment.active.as_ref() == Some(&revision.id) {
                    set(&revision.id, host, route(deployment, observed, memory));
                } else if observed.containers.iter().any(|it| it.revision == revision.id) {
                    let healthy = healthy(revision, observed, memory);
                    set(&revision.id, host, ready(healthy, "this revision is starting"));
                }
            }
        }
        for over in self.0.difference(&current) {
            routes.remove(over);
        }
        self.0 = current;
        taken
    }
}

/// The route of a deployment: to its active revision.
fn route(deployment: &Desired, observed: &Observed, memory: &Memory) -> Route {
    let active = deployment.active.as_ref();
    let Some(active) = deployment.revisions.iter().find(|revision| Some(&revision.id) == active) else {
        return Route::Waiting(why_none(deployment));
    };
    let is_started =
        |container: &Container| container.revision == active.id && !memory.is_draining(&container.name);
    match deployment.scale.min {
        0 if !observed.containers.iter().any(is_started) => Route::Asleep,
        _ => ready(healthy(active, observed, memory), "no replica is healthy"),
    }
}

fn ready(healthy: Vec<SocketAddr>, otherwise: &str) -> Route {
    if healthy.is_empty() { Route::Waiting(otherwise.to_owned()) } else { Route::Ready(healthy) }
}

/// Why a deployment has no active revision.
fn why_none(deployment: &Desired) -> String {
    match deployment.revisions.last() {
        None => "nothing is deployed as yet".to_owned(),
        Some(Revision { phase, last_error, number, .. }) if !phase.is_current() && !phase.is_waiting() => {
            let reason = last_error.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            match phase {
                Phase::Interrupted => format!("revision {number} was interrupted"),
                _ => format!("revision {number} failed{reason}"),
            }
        }
        Some(revision) => format!("revision {} is being deployed", revision.number),
    }
}

/// The addresses of the containers of a revision that get requests: the healthy ones, or else all that were healthy, since
/// a server that is busy may answer its health check late.
fn healthy(revision: &Revision, observed: &Observed, memory: &Memory) -> Vec<SocketAddr> {
    let addresses = |serves: &dyn Fn(&Container) -> bool| -> Vec<SocketAddr> {
        let own = observed.containers.iter().filter(|container| container.revision == revision.id);
        let open = own.filter(|container| !memory.is_draining(&container.name) && serves(container));
        open.filter_map(|container| container.address).collect()
    };
    let healthy = addresses(&Container::is_healthy);
    if healthy.is_empty() { addresses(&|container| memory.was_healthy(&container.name)) } else { healthy }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reconcile::state::{Scale, Source};
    use crate::runner::{ContainerState, ContainerStatus};

    fn deployment(phase: Phase) -> Desired {
        let revision = Revision {
            id: "r".to_owned(),
            number: 1,
            phase,
            source: Source::Build,
            tag: "image:1".to_owned(),
            image: None,
            attempts: 0,
            last_error: Some("no space left".to_owned()),
        };
        Desired {
            id: "d".to_owned(),
            tenant: "tenant".to_owned(),
            name: "agent".to_owned(),
            hosts: Vec::new(),
            is_deleted: false,
            scale: Scale { min: 1, max: 1 },
            grace: Duration::ZERO,
            revisions: vec![revision],
            active: (phase == Phase::Deployed).then(|| "r".to_owned()),
        }
    }

    fn status(state: ContainerState) -> ContainerStatus {
        ContainerStatus {
            name: "c".to_owned(),
            deployment: "d".to_owned(),
            revision: "r".to_owned(),
            replica: 0,
            state,
            address: Some(([127, 0, 0, 1], 8000).into()),
            health_check: "/ok".to_owned(),
        }
    }

    /// The route while the engine has `containers`.
    fn route_with(deployment: &Desired, containers: &[ContainerStatus], memory: &mut Memory) -> Route {
        let deployments = std::slice::from_ref(deployment);
        let observed = memory.observed(deployments, containers, Vec::new(), &Routes::default());
        route(deployment, &observed, memory)
    }

    #[test]
    fn deployment_without_an_active_revision_says_why() {
        for (phase, expected) in [
            (Phase::Building, "revision 1 is being deployed"),
            (Phase::BuildFailed, "revision 1 failed: no space left"),
            (Phase::Interrupted, "revision 1 was interrupted"),
        ] {
            let route = route_with(&deployment(phase), &[], &mut Memory::default());
            assert_eq!(route, Route::Waiting(expected.to_owned()));
        }
    }

    #[test]
    fn stopped_deployment_is_asleep_only_if_it_may_be() {
        let mut deployment = deployment(Phase::Deployed);
        let waiting = Route::Waiting("no replica is healthy".to_owned());
        assert_eq!(route_with(&deployment, &[], &mut Memory::default()), waiting);
        deployment.scale.min = 0;
        assert_eq!(route_with(&deployment, &[], &mut Memory::default()), Route::Asleep);
        let starting = [status(ContainerState::Created)];
        assert_eq!(route_with(&deployment, &starting, &mut Memory::default()), waiting);
    }

    #[test]
    fn busy_server_keeps_its_route_until_it_is_drained_or_ends() {
        let (deployment, mut memory) = (deployment(Phase::Deployed), Memory::default());
        let running = [status(ContainerState::Running)];
        let ready = Route::Ready(vec![([127, 0, 0, 1], 8000).into()]);
        let waiting = Route::Waiting("no replica is healthy".to_owned());
        assert_eq!(route_with(&deployment, &running, &mut memory), waiting);
        memory.probed("c", true);
        assert_eq!(route_with(&deployment, &running, &mut memory), ready);
        memory.probed("c", false);
        assert_eq!(route_with(&deployment, &running, &mut memory), ready);
        let exited = [status(ContainerState::Exited { code: 1, ran: Duration::ZERO })];
        assert_eq!(route_with(&deployment, &exited, &mut memory), waiting);
        memory.probed("c", true);
        memory.begin_drain("c");
        assert_eq!(route_with(&deployment, &running, &mut memory), waiting);
    }
}
