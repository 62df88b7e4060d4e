//! Stops and removes what `up` created.

use std::path::Path;

use super::check::check_directory;
use super::error::Error;
use super::labels;
use super::stop::{service, stop, waves};
use super::turn::turn;
use crate::engine::{self, Container, Engine};
use crate::live::{Change, Event, Reporter};

/// Stops and removes the containers and the network of a project, and with `volumes` its volumes. Containers that other
/// programs added to the project are kept. With an `owner`, the project must belong to that directory.
///
/// # Errors
///
/// [`Error::Taken`] if it belongs to another; the engine refuses or disconnects.
pub async fn down(
    engine: &Engine,
    project: &str,
    owner: Option<&Path>,
    volumes: bool,
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    // An `up` that is changing the project finishes first.
    let _turn = turn(engine, project, reporter).await;
    let containers = engine.containers(labels::PROJECT, project).await?;
    if let Some(directory) = owner {
        check_directory(&containers, project, directory)?;
    }
    let is_ours = |container: &Container| container.labels.contains_key(labels::OURS);
    let (ours, others): (Vec<Container>, Vec<Container>) = containers.into_iter().partition(is_ours);
    stop(engine, &ours, reporter).await?;
    for container in waves(&ours).into_iter().flatten() {
        engine.remove(&container.id).await?;
        reporter.service(service(container), Change::Removed);
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
                reporter.warn(format!("keeping the network `{name}`: other containers use it"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mine = if volumes { engine.volumes(labels::PROJECT, project).await? } else { Vec::new() };
    for volume in mine.iter().filter(|volume| volume.labels.contains_key(labels::OURS)) {
        engine.remove_volume(&volume.name).await?;
        removed = true;
        reporter.note(format!("removed the volume `{}`", volume.name));
    }
    if !others.is_empty() {
        let kept = "keeping the services that docker compose started for the project";
        reporter
            .warn(format!("{kept} `{project}`; to remove them, pass -d with the file that `up` was given"));
    } else if !removed {
        reporter.note(format!("nothing to remove for the project `{project}`"));
    }
    reporter.event(&Event::Stopped);
    Ok(())
}
