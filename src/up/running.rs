//! The server that `up` runs for a project.

use std::path::Path;

use super::check::check_directory;
use super::error::Error;
use super::labels;
use super::stop::{is_running, service};
use crate::compiler::server::product::{LABEL, Product};
use crate::compiler::server::setup;
use crate::engine::Engine;

/// The URL of the API of the server that runs for a project. With an `owner`, the project must belong to that directory.
///
/// # Errors
///
/// [`Error::Taken`] if it belongs to another; the engine refuses or disconnects.
pub async fn running_url(
    engine: &Engine,
    project: &str,
    owner: Option<&Path>,
) -> Result<Option<String>, Error> {
    let containers = engine.containers(labels::PROJECT, project).await?;
    if let Some(directory) = owner {
        check_directory(&containers, project, directory)?;
    }
    let running = containers.iter().filter(|container| is_running(container));
    Ok(running.filter_map(|container| container.labels.get(labels::URL)).next().cloned())
}

/// The databases of a running setup.
pub struct Databases {
    /// Address of PostgreSQL.
    pub postgres: String,
    /// Address of Redis.
    pub redis: String,
    /// Whether the setup's server runs, too.
    pub is_served: bool,
}

/// The databases of the project of `owner`, by their addresses in its network, if `server` is the one that they are for.
///
/// # Errors
///
/// As for [`running_url`].
pub async fn databases(
    engine: &Engine,
    server: &Product,
    project: &str,
    owner: &Path,
) -> Result<Option<Databases>, Error> {
    let containers = engine.containers(labels::PROJECT, project).await?;
    check_directory(&containers, project, owner)?;
    let find = |name: &str| containers.iter().find(|container| service(container) == name);
    let (Some(postgres), Some(redis), Some(api)) =
        (find(setup::POSTGRES.name), find(setup::REDIS.name), find(setup::SERVER))
    else {
        return Ok(None);
    };
    // Each server has tables of its own.
    if api.labels.get(LABEL).is_none_or(|name| name != server.name) {
        return Ok(None);
    }
    let addresses = (engine.address_of(&postgres.id).await?, engine.address_of(&redis.id).await?);
    let (Some(postgres), Some(redis)) = addresses else { return Ok(None) };
    Ok(Some(Databases {
        postgres: setup::database_uri().replace(setup::POSTGRES.name, &postgres),
        redis: setup::REDIS_URI.1.replace(setup::REDIS.name, &redis),
        is_served: is_running(api),
    }))
}
