//! The server that `up` runs for a project.

use std::path::Path;

use super::check::check_directory;
use super::error::Error;
use super::labels;
use super::stop::is_running;
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
