//! The networks: each deployment has one of its own, which only the databases join.

use agentcli::engine::{Engine, Error, Shared};

use super::Failure;
use super::labels::{self, label};

/// The words with which engines report that all their address ranges are in use.
const EXHAUSTED: &[&str] = &["address pool", "fully subnetted", "could not find free subnet"];

/// The name of a deployment's network.
pub(super) fn name(host: &str, deployment: &str) -> String {
    format!("{}-{deployment}", labels::prefix(host))
}

/// The network of the databases, created unless it exists.
pub(super) async fn provide_shared(engine: &Engine, host: &str) -> Result<(), Failure> {
    provide(engine, &labels::prefix(host), &[label(labels::HOST, host)]).await.map(drop)
}

/// The network of a deployment, created unless it exists; returns its ID. Two callers at once may create two.
pub(super) async fn provide_for(engine: &Engine, host: &str, deployment: &str) -> Result<String, Failure> {
    let labels = [label(labels::HOST, host), label(labels::DEPLOYMENT, deployment)];
    provide(engine, &name(host, deployment), &labels).await
}

async fn provide(engine: &Engine, name: &str, labels: &[(String, String)]) -> Result<String, Failure> {
    if let Some(found) = engine.networks(name).await?.pop() {
        return Ok(found.id);
    }
    match engine.create_network(name, labels).await {
        Ok(id) => Ok(id),
        Err(Error::Request { reason, .. }) if EXHAUSTED.iter().any(|words| reason.contains(words)) => {
            Err(Failure::Refused(format!(
                "cannot create the network of the deployment: all address ranges of the container engine are in use; \
                 remove unused networks, or give the engine more and smaller ranges (`default-address-pools`): {reason}"
            )))
        }
        Err(error) => Err(error.into()),
    }
}

/// The networks of deployments, with the IDs of those.
pub(super) async fn of_deployments(engine: &Engine, host: &str) -> Result<Vec<(Shared, String)>, Failure> {
    let all = engine.networks_with(labels::HOST, host).await?;
    let with_deployment = |network: Shared| {
        let deployment = network.labels.get(labels::DEPLOYMENT)?.clone();
        Some((network, deployment))
    };
    Ok(all.into_iter().filter_map(with_deployment).collect())
}

/// Removes a network that only these containers are in.
pub(super) async fn remove(engine: &Engine, network: &Shared, databases: &[String]) -> Result<(), Failure> {
    for container in databases {
        engine.disconnect_from(&network.id, container).await?;
    }
    Ok(engine.remove_network(&network.id, &network.name).await?)
}
