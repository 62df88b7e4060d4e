//! The owner of a project: each project name belongs to one directory.

use std::path::Path;

use super::error::Error;
use super::labels;
use super::port;
use super::session::Session;
use crate::engine::{Container, Engine};

/// Checks that the project name belongs to this directory and that its ports are free, before anything is changed.
///
/// # Errors
///
/// [`Error::Taken`], [`Error::Port`]; the engine refuses, or is gone.
pub async fn check(engine: &Engine, session: &Session) -> Result<(), Error> {
    let containers = engine.containers(labels::PROJECT, &session.setup.name).await?;
    check_directory(&containers, &session.setup.name, &session.directory)?;
    port::check(engine, session, &containers).await
}

/// Checks that no other directory has a project of this name: its containers and its data must not be changed.
///
/// # Errors
///
/// [`Error::Taken`]; the engine refuses, or is gone.
pub(super) async fn check_owner(engine: &Engine, project: &str, directory: &Path) -> Result<(), Error> {
    check_directory(&engine.containers(labels::PROJECT, project).await?, project, directory)
}

fn check_directory(containers: &[Container], project: &str, directory: &Path) -> Result<(), Error> {
    let ours = directory.display().to_string();
    let of = |container: &Container| container.labels.get(labels::DIRECTORY).cloned();
    match containers.iter().filter_map(of).find(|directory| *directory != ours) {
        Some(directory) => Err(Error::Taken { project: project.to_owned(), directory }),
        None => Ok(()),
    }
}
