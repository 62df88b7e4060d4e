//! Whose a project is: one name is one directory's.

use std::path::Path;

use super::error::Error;
use super::labels;
use crate::engine::{Container, Engine};

/// Containers of another directory's project of the same name are not ours to change, nor is its data.
///
/// # Errors
///
/// [`Error::Taken`] where there are any; the engine refuses, or is gone.
pub async fn check_owner(engine: &Engine, project: &str, directory: &Path) -> Result<(), Error> {
    let ours = directory.display().to_string();
    let of = |container: &Container| container.labels.get(labels::DIRECTORY).cloned();
    let there = engine.containers(labels::PROJECT, project).await?;
    match there.iter().filter_map(of).find(|directory| *directory != ours) {
        Some(directory) => Err(Error::Taken { project: project.to_owned(), directory }),
        None => Ok(()),
    }
}
