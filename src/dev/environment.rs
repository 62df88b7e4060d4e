//! A record of the environment in which the server ran last, so that the next start installs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::HOME;
use super::candidates;
use super::error::Error;
use super::session::{Options, Session};
use crate::compiler::back::plan::{JavascriptPackages, PythonPackages};
use crate::project;

/// Raised when the same inputs lead to another environment.
const FORMAT: u32 = 2;

/// The names of the records.
pub(super) const PYTHON: &str = "python";
pub(super) const NODE: &str = "node";

/// An environment that has all packages.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Environment {
    /// The hash of its inputs.
    pub(super) key: String,
    /// Its interpreter.
    pub(super) program: PathBuf,
    /// Paths that other installations change, with the time of the last change, in nanoseconds.
    pub(super) foreign: Vec<(PathBuf, u128)>,
    /// Whether it has a debugger.
    pub(super) debugger: bool,
}

impl Environment {
    /// Reads the record, if it is still valid for `key`.
    pub(super) fn read(directory: &Path, whose: &str, key: &str, debugger: bool) -> Option<Self> {
        let text = fs::read_to_string(file(directory, whose)).ok()?;
        let known: Self = serde_json::from_str(&text).ok()?;
        let unchanged = known.foreign.iter().all(|(path, changed)| changed_at(path) == Some(*changed));
        let holds = known.key == key && known.program.is_file() && unchanged && (known.debugger || !debugger);
        holds.then_some(known)
    }

    /// Writes the record.
    pub(super) fn write(&self, directory: &Path, whose: &str) -> Result<(), Error> {
        let path = file(directory, whose);
        let text = serde_json::to_string(self).unwrap_or_default();
        Ok(project::write_atomically(&path, text.as_bytes())?)
    }

    /// Removes the record, so that the next start checks the packages.
    pub(super) fn forget(directory: &Path, whose: &str) {
        fs::remove_file(file(directory, whose)).ok();
    }

    /// When the records changed last: an installation writes them again.
    pub(super) fn recorded(directory: &Path) -> [Option<u128>; 2] {
        [PYTHON, NODE].map(|whose| changed_at(&file(directory, whose)))
    }

    /// Removes all records.
    pub(super) fn forget_all(directory: &Path) {
        [PYTHON, NODE].into_iter().for_each(|whose| Self::forget(directory, whose));
    }
}

fn file(directory: &Path, whose: &str) -> PathBuf {
    directory.join(HOME).join(format!("{whose}.json"))
}

/// The time of the last change of a file or directory, in nanoseconds.
pub(super) fn changed_at(path: &Path) -> Option<u128> {
    let changed = fs::metadata(path).ok()?.modified().ok()?;
    changed.duration_since(UNIX_EPOCH).ok().map(|since| since.as_nanos())
}

/// The hash of everything that determines the interpreter and the packages.
pub(super) fn key(session: &Session, packages: &PythonPackages, options: &Options) -> String {
    let text = |path| text(session, path);
    let manifests: Vec<_> =
        packages.manifests.iter().chain(&packages.pip_config).map(|path| text(path)).collect();
    let surroundings = &options.selection.surroundings;
    let environments = candidates::environments(&session.directory, surroundings);
    let settings: Vec<_> =
        environments.iter().map(|path| fs::read_to_string(path.join("pyvenv.cfg")).ok()).collect();
    hash(&json!([
        options.selection.python,
        surroundings.virtual_env,
        surroundings.pyenv_version,
        environments,
        settings,
        text(".python-version"),
        packages,
        manifests,
    ]))
}

/// The same for JavaScript; `nodes` are the interpreters that were found, `ours` our manifests.
pub(super) fn node_key(
    session: &Session,
    packages: &JavascriptPackages,
    nodes: &[PathBuf],
    ours: &[&str],
) -> String {
    let manifests = packages.project.iter().flat_map(|project| &project.manifests);
    let manifests: Vec<_> = manifests.map(|path| text(session, path)).collect();
    hash(&json!([packages, nodes, manifests, ours]))
}

/// The text of a file of the user.
fn text(session: &Session, path: &str) -> Option<String> {
    fs::read_to_string(session.directory.join(path)).ok()
}

fn hash(inputs: &Value) -> String {
    hex::encode(Sha256::digest(format!("{FORMAT} {inputs}")))
}
