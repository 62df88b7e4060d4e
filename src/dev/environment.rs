//! What is known of the environment that the server ran in last, so that a second start asks and installs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::HOME;
use super::error::Error;
use super::session::{Options, Session};
use crate::compiler::back::plan::{JavascriptPackages, PythonPackages};
use crate::project;

/// Raised when what an environment holds for the same inputs changes.
const FORMAT: u32 = 2;

/// Whose environment it is: the name that it is written down by.
pub(super) const PYTHON: &str = "python";
pub(super) const NODE: &str = "node";

/// An environment that has everything.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Environment {
    /// What it was made for.
    pub(super) key: String,
    /// Its interpreter.
    pub(super) program: PathBuf,
    /// What an installation that is not ours would change, and when it was changed last, in nanoseconds.
    pub(super) foreign: Vec<(PathBuf, u128)>,
    /// Whether it has a debugger.
    pub(super) debugger: bool,
}

impl Environment {
    /// What was written down, where it still holds for `key`.
    pub(super) fn read(directory: &Path, whose: &str, key: &str, debugger: bool) -> Option<Self> {
        let text = fs::read_to_string(file(directory, whose)).ok()?;
        let known: Self = serde_json::from_str(&text).ok()?;
        let unchanged = known.foreign.iter().all(|(path, changed)| changed_at(path) == Some(*changed));
        let holds = known.key == key && known.program.is_file() && unchanged && (known.debugger || !debugger);
        holds.then_some(known)
    }

    /// Writes it down.
    pub(super) fn write(&self, directory: &Path, whose: &str) -> Result<(), Error> {
        let path = file(directory, whose);
        let text = serde_json::to_string(self).unwrap_or_default();
        Ok(project::write_atomically(&path, text.as_bytes())?)
    }

    /// Forgets what was written down, so that the next start looks again.
    pub(super) fn forget(directory: &Path, whose: &str) {
        fs::remove_file(file(directory, whose)).ok();
    }

    /// The same of every environment.
    pub(super) fn forget_all(directory: &Path) {
        [PYTHON, NODE].into_iter().for_each(|whose| Self::forget(directory, whose));
    }
}

fn file(directory: &Path, whose: &str) -> PathBuf {
    directory.join(HOME).join(format!("{whose}.json"))
}

/// When a file or directory was changed, in nanoseconds.
pub(super) fn changed_at(path: &Path) -> Option<u128> {
    let changed = fs::metadata(path).ok()?.modified().ok()?;
    changed.duration_since(UNIX_EPOCH).ok().map(|since| since.as_nanos())
}

/// Everything that decides which interpreter is taken and what is installed, as one hash.
pub(super) fn key(session: &Session, packages: &PythonPackages, options: &Options) -> String {
    let text = |path| text(session, path);
    let manifests: Vec<_> =
        packages.manifests.iter().chain(&packages.pip_config).map(|path| text(path)).collect();
    let surroundings = &options.surroundings;
    hash(&json!([
        options.python,
        surroundings.virtual_env,
        surroundings.pyenv_version,
        text(".venv/pyvenv.cfg"),
        text(".python-version"),
        packages,
        manifests,
    ]))
}

/// The same of what JavaScript needs: `nodes` are the interpreters that there are, `ours` the manifests that are not
/// the user's.
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

/// A file of the user's.
fn text(session: &Session, path: &str) -> Option<String> {
    fs::read_to_string(session.directory.join(path)).ok()
}

fn hash(inputs: &Value) -> String {
    Sha256::digest(format!("{FORMAT} {inputs}")).iter().map(|byte| format!("{byte:02x}")).collect()
}
