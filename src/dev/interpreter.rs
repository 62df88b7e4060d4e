//! Python interpreters: their versions, and the packages that they lack.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answer::answer;
use super::session::Surroundings;
use crate::child::Command;
use crate::compiler::back::plan::{PythonPackages, ServerPackage};
use crate::compiler::manifests::requires_python::Release;

/// Prints the version of an interpreter and the missing packages.
const INSPECT: &str = include_str!("inspect.py");

/// The result of the inspection of an interpreter.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Inspection {
    /// Its version.
    pub(super) version: Release,
    /// The missing packages, in words.
    pub(super) missing: Vec<String>,
    /// The directory of its packages.
    #[serde(default)]
    pub(super) packages: PathBuf,
}

impl Inspection {
    /// The version, such as `3.12.1`.
    pub(super) fn shown_version(&self) -> String {
        self.version.map(|number| number.to_string()).join(".")
    }

    /// The name of the directory with the libraries of its series, such as `python3.12`.
    pub(super) fn library(&self) -> String {
        let [major, minor, _] = self.version;
        format!("python{major}.{minor}")
    }

    /// Whether the version belongs to a series such as `3.12`.
    pub(super) fn is_of(&self, series: &str) -> bool {
        self.shown_version().strip_prefix(series).is_some_and(|patch| patch.starts_with('.'))
    }
}

/// The required packages.
#[derive(Serialize)]
pub(super) struct Required {
    requirements: Vec<String>,
    files: Vec<String>,
    editable: Vec<String>,
}

impl Required {
    pub(super) fn new(packages: &PythonPackages, debugger: bool) -> Self {
        let server = packages.server.iter().map(ServerPackage::accepted);
        Self {
            requirements: server.chain(others(packages, debugger)).collect(),
            files: packages.files.clone(),
            editable: packages.editable.clone(),
        }
    }
}

/// The required packages from an index, besides those of the server.
pub(super) fn others(packages: &PythonPackages, debugger: bool) -> impl Iterator<Item = String> {
    packages.requirements.iter().cloned().chain(debugger.then(|| "debugpy".to_owned()))
}

/// A program on the PATH.
pub(super) fn on_path(name: &str, surroundings: &Surroundings) -> Option<PathBuf> {
    std::env::split_paths(&surroundings.path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Inspects an interpreter. The error is a fragment.
pub(super) async fn inspect(
    python: &Path,
    directory: &Path,
    required: &Required,
    limit: Duration,
) -> Result<Inspection, String> {
    let required = serde_json::to_string(required).map_err(|error| error.to_string())?;
    let command = Command::new(python, directory).arguments(["-I", "-B", "-c", INSPECT]).argument(required);
    let (status, lines) = answer(&command, limit).await?;
    // The output may contain warnings, too.
    let inspection = lines.into_iter().rev().find_map(|line| serde_json::from_str(&line).ok());
    inspection.ok_or_else(|| {
        if status.is_success() { "is not Python".to_owned() } else { format!("fails with {status}") }
    })
}
