//! The names and labels by which the host finds what it made.

use agentcli::engine::{Container, State};

use super::{ContainerState, ContainerStatus};

/// ID of the host.
pub(super) const HOST: &str = "agentcli.host";
/// ID of the deployment of a server.
pub(super) const DEPLOYMENT: &str = "agentcli.deployment";
/// ID of the revision of a server.
pub(super) const REVISION: &str = "agentcli.revision";
/// Number of the replica of a server.
pub(super) const REPLICA: &str = "agentcli.replica";
/// Path of the health check of a server.
pub(super) const HEALTH_CHECK: &str = "agentcli.health-check";

/// The way in which containers are set up; those of another one are replaced.
const LAYOUT: (&str, &str) = ("agentcli.layout", "2");

/// The label of containers that are set up as this version does it.
pub(super) fn layout() -> (String, String) {
    label(LAYOUT.0, LAYOUT.1)
}

/// Whether a container is set up as this version does it.
pub(super) fn is_current(container: &Container) -> bool {
    container.labels.get(LAYOUT.0).is_some_and(|layout| layout == LAYOUT.1)
}

/// The beginning of the names of everything that a host makes on the engine, except containers of servers.
pub(super) fn prefix(host: &str) -> String {
    format!("agentcli-host-{host}")
}

/// The name of a server's container.
pub fn container_name(deployment: &str, number: u64, replica: u32) -> String {
    format!("agentcli-{deployment}-{number}-{replica}")
}

/// The name of a revision's image: its tag is the number of the revision.
pub fn image_tag(host: &str, deployment: &str, number: u64) -> String {
    format!("{}/{deployment}:{number}", prefix(host))
}

/// A label.
pub(super) fn label(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// What is known of a server's container without its state; nothing of other containers.
pub(super) fn seen(container: &Container) -> Option<ContainerStatus> {
    let label = |name: &str| container.labels.get(name).cloned();
    let port = container.ports.first().filter(|_| matches!(container.state, State::Running(_)));
    Some(ContainerStatus {
        name: container.name.clone(),
        deployment: label(DEPLOYMENT)?,
        revision: label(REVISION)?,
        replica: label(REPLICA)?.parse().ok()?,
        state: ContainerState::Broken,
        address: port.map(|port| ([127, 0, 0, 1], *port).into()),
        health_check: label(HEALTH_CHECK)?,
    })
}
