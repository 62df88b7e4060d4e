//! Whose a project is: one name is one directory's.

use std::path::Path;

use super::error::Error;
use super::labels;
use super::port;
use super::session::Session;
use crate::engine::{Container, Engine};

/// Whether the setup can be run as far as others are concerned: the name is its own, and its ports can be opened. Nothing
/// is changed before that is known.
///
/// # Errors
///
/// [`Error::Taken`], [`Error::Port`]; the engine refuses, or is gone.
pub async fn check(engine: &Engine, session: &Session) -> Result<(), Error> {
    let there = engine.containers(labels::PROJECT, &session.setup.name).await?;
    is_owner(&there, &session.setup.name, &session.directory)?;
    port::check(engine, session, &there).await
}

/// Containers of another directory's project of the same name are not ours to change, nor is its data.
///
/// # Errors
///
/// [`Error::Taken`] where there are any; the engine refuses, or is gone.
pub(super) async fn check_owner(engine: &Engine, project: &str, directory: &Path) -> Result<(), Error> {
    is_owner(&engine.containers(labels::PROJECT, project).await?, project, directory)
}

fn is_owner(there: &[Container], project: &str, directory: &Path) -> Result<(), Error> {
    let ours = directory.display().to_string();
    let of = |container: &Container| container.labels.get(labels::DIRECTORY).cloned();
    match there.iter().filter_map(of).find(|directory| *directory != ours) {
        Some(directory) => Err(Error::Taken { project: project.to_owned(), directory }),
        None => Ok(()),
    }
}
