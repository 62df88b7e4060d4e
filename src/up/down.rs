//! Stops and removes what `up` made.

use std::path::Path;

use super::error::Error;
use super::labels;
use super::owner::check_owner;
use super::stop::{service, stop, waves};
use crate::engine::{self, Container, Engine};
use crate::live::{Change, Event};

/// Stops and removes the containers and the network of a project, and its volumes where `volumes` says so. What others
/// made in it stays. With an `owner`, the project must be that directory's.
///
/// # Errors
///
/// [`Error::Taken`] where it is another's; the engine refuses, or is gone.
pub async fn down(
    engine: &Engine,
    project: &str,
    owner: Option<&Path>,
    volumes: bool,
    mut event: impl FnMut(&Event),
) -> Result<(), Error> {
    let mut tell = |service: &str, change| event(&Event::Service { service: service.to_owned(), change });
    if let Some(directory) = owner {
        check_owner(engine, project, directory).await?;
    }
    let there = engine.containers(labels::PROJECT, project).await?;
    let is_ours = |container: &Container| container.labels.contains_key(labels::OURS);
    let (ours, others): (Vec<Container>, Vec<Container>) = there.into_iter().partition(is_ours);
    stop(engine, &ours, |service| tell(service, Change::Stopped)).await?;
    for container in waves(&ours).into_iter().flatten() {
        engine.remove(&container.id).await?;
        tell(service(container), Change::Removed);
    }
    let mut removed = !ours.is_empty();
    let name = format!("{project}_default");
    for network in engine.networks(&name).await? {
        if !network.labels.contains_key(labels::OURS) {
            continue;
        }
        match engine.remove_network(&network.id, &name).await {
            Ok(()) => removed = true,
            Err(engine::Error::Request { .. }) => {
                let message = format!("the network `{name}` stays: other containers are on it");
                event(&Event::Warning { message });
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mine = if volumes { engine.volumes(labels::PROJECT, project).await? } else { Vec::new() };
    for volume in mine.iter().filter(|volume| volume.labels.contains_key(labels::OURS)) {
        engine.remove_volume(&volume.name).await?;
        removed = true;
        event(&Event::Note { message: format!("removed the volume `{}`", volume.name) });
    }
    if !others.is_empty() {
        let message = format!(
            "what docker compose made of the project `{project}` stays; add -d with the file that `up` was given"
        );
        event(&Event::Warning { message });
    } else if !removed {
        event(&Event::Note { message: format!("there is nothing of the project `{project}`") });
    }
    event(&Event::Stopped);
    Ok(())
}
