//! What is known of the environment that the server ran in last, so that a second start asks and installs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::HOME;
use super::error::Error;
use super::session::{Options, Session};
use crate::compiler::plan::PythonPackages;
use crate::project;

/// Raised when what an environment holds for the same inputs changes.
const FORMAT: u32 = 1;

/// An environment that has everything.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Environment {
    /// What it was made for.
    pub(super) key: String,
    /// Its interpreter.
    pub(super) python: PathBuf,
    /// Where its packages lie, and when something was last installed there, in nanoseconds; only of an environment
    /// that is not ours.
    pub(super) foreign: Option<(PathBuf, u128)>,
    /// Whether it has a debugger.
    pub(super) debugger: bool,
}

impl Environment {
    /// What was written down, where it still holds for `key`.
    pub(super) fn read(directory: &Path, key: &str, debugger: bool) -> Option<Self> {
        let text = fs::read_to_string(file(directory)).ok()?;
        let known: Self = serde_json::from_str(&text).ok()?;
        let unchanged = match &known.foreign {
            Some((packages, changed)) => changed_at(packages) == Some(*changed),
            None => true,
        };
        let holds = known.key == key && known.python.is_file() && unchanged && (known.debugger || !debugger);
        holds.then_some(known)
    }

    /// Writes it down.
    pub(super) fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = file(directory);
        let text = serde_json::to_string(self).unwrap_or_default();
        Ok(project::write_atomically(&path, text.as_bytes())?)
    }

    /// Forgets what was written down, so that the next start looks again.
    pub(super) fn forget(directory: &Path) {
        fs::remove_file(file(directory)).ok();
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join(HOME).join("environment.json")
}

/// When something was installed into a directory of packages, in nanoseconds.
pub(super) fn changed_at(packages: &Path) -> Option<u128> {
    let changed = fs::metadata(packages).ok()?.modified().ok()?;
    changed.duration_since(UNIX_EPOCH).ok().map(|since| since.as_nanos())
}

/// Everything that decides which interpreter is taken and what is installed, as one hash.
pub(super) fn key(session: &Session, packages: &PythonPackages, options: &Options) -> String {
    let text = |path: &str| fs::read_to_string(session.directory.join(path)).ok();
    let manifests: Vec<_> =
        packages.manifests.iter().chain(&packages.pip_config).map(|path| text(path)).collect();
    let surroundings = &options.surroundings;
    let inputs = json!([
        FORMAT,
        options.python,
        surroundings.virtual_env,
        surroundings.pyenv_version,
        text(".venv/pyvenv.cfg"),
        text(".python-version"),
        packages,
        manifests,
    ]);
    Sha256::digest(inputs.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}
