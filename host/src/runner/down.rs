//! Removes what a host started on its engine.

use futures_util::future::join_all;

use agentcli::engine::{Container, Engine, EngineEnv, State};
use agentcli::up::GRACE;

use super::{Failure, labels};

/// What is removed besides the containers of the deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing: the databases run on.
    Deployments,
    /// All that can be made again: the databases without their data, the networks, and the images.
    All,
    /// The data of the databases, too.
    AllWithData,
}

/// Numbers of removed things, and the names of the volumes that stay.
#[derive(Debug, Default)]
pub struct Removed {
    /// Containers.
    pub containers: usize,
    /// Networks.
    pub networks: usize,
    /// Images.
    pub images: usize,
    /// Volumes.
    pub volumes: usize,
    /// Volumes with data that stay.
    pub kept: Vec<String>,
}

/// Removes what the host of this ID started. It must not run, since it would start it again.
///
/// # Errors
///
/// The engine refuses or disconnects; what was removed until then is gone, and the rest is removed by the next call.
pub async fn down(engine: &EngineEnv, host: &str, extent: Extent) -> Result<Removed, Failure> {
    let engine = &Engine::connect(engine).await?;
    let all = engine.containers(labels::HOST, host).await?;
    let is_of_deployment = |it: &Container| it.labels.contains_key(labels::DEPLOYMENT);
    let (servers, databases): (Vec<Container>, Vec<Container>) = all.into_iter().partition(is_of_deployment);
    let mut removed = Removed { containers: remove(engine, &servers).await?, ..Removed::default() };
    let volumes = engine.volumes(labels::HOST, host).await?;
    if extent != Extent::Deployments {
        removed.containers += remove(engine, &databases).await?;
        for network in engine.networks_with(labels::HOST, host).await? {
            engine.remove_network(&network.id, &network.name).await?;
            removed.networks += 1;
        }
        for image in engine.images_below(&labels::prefix(host)).await? {
            engine.remove_image(&image).await?;
            removed.images += 1;
        }
    }
    for volume in volumes {
        if extent == Extent::AllWithData {
            engine.remove_volume(&volume.name).await?;
            removed.volumes += 1;
        } else {
            removed.kept.push(volume.name);
        }
    }
    Ok(removed)
}

/// Stops and removes containers, all at once; their number.
async fn remove(engine: &Engine, containers: &[Container]) -> Result<usize, Failure> {
    let remove = async |container: &Container| {
        if matches!(container.state, State::Running(_) | State::Paused) {
            engine.stop(&container.name, GRACE).await?;
        }
        engine.remove(&container.name).await
    };
    for done in join_all(containers.iter().map(remove)).await {
        done?;
    }
    Ok(containers.len())
}
