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
        let mut set = |id: &str, hosts: Vec<String>, route: Route| {
            let hosts: Vec<HostName> = hosts.iter().filter_map(|host| HostName::parse(host).ok()).collect();
            current.insert(id.to_owned());
            taken.extend(routes.set(id, &hosts, route).err().map(|error| error.to_string()));
        };
        for deployment in desired.iter().filter(|deployment| !deployment.is_deleted) {
            let mut hosts = vec![format!("{}.localhost", deployment.name)];
            hosts.extend(deployment.hosts.iter().cloned());
            set(&deployment.id, hosts, route(deployment, observed, memory));
            for revision in &deployment.revisions {
                let healthy = healthy(revision, observed, memory);
                if observed.containers.iter().any(|container| container.revision == revision.id) {
                    let host = format!("r{}.{}.localhost", revision.number, deployment.name);
                    set(&revision.id, vec![host], ready(healthy, "this revision is starting"));
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

/// The addresses of the healthy containers of a revision that get requests.
fn healthy(revision: &Revision, observed: &Observed, memory: &Memory) -> Vec<SocketAddr> {
    let serves = |container: &&Container| {
        container.revision == revision.id && container.is_healthy() && !memory.is_draining(&container.name)
    };
    observed.containers.iter().filter(serves).filter_map(|container| container.address).collect()
}
