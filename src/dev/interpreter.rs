//! The Python interpreter that runs the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::session::{Options, Session, Surroundings};
use crate::child::{Child, Command};
use crate::compiler::back::plan::PythonPackages;
use crate::compiler::server::local::OLDEST_PYTHON;

/// Prints the version of an interpreter and the missing packages.
const INSPECT: &str = include_str!("inspect.py");

/// Interpreters on the PATH, in order of preference.
const NAMES: &[&str] = &["python3", "python", "python3.13", "python3.12", "python3.11", "python3.14"];

/// Grace period of an interpreter that is inspected.
const GRACE: Duration = Duration::from_secs(1);

/// The result of the inspection of an interpreter.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Inspection {
    /// Major and minor version.
    pub(super) version: (u32, u32),
    /// The missing packages, in words.
    pub(super) missing: Vec<String>,
    /// The directory of its packages.
    #[serde(default)]
    pub(super) packages: PathBuf,
}

/// A suitable interpreter.
pub(super) struct Interpreter {
    pub(super) path: PathBuf,
    pub(super) inspection: Inspection,
    /// A warning if it is not of the pinned version.
    pub(super) warning: Option<String>,
}

/// The required packages.
#[derive(Serialize)]
pub(super) struct Required {
    pub(super) requirements: Vec<String>,
    files: Vec<String>,
    editable: Vec<String>,
}

impl Required {
    pub(super) fn new(packages: &PythonPackages, debugger: bool) -> Self {
        let own = packages.server.iter().chain(&packages.requirements).cloned();
        Self {
            requirements: own.chain(debugger.then(|| "debugpy".to_owned())).collect(),
            files: packages.files.clone(),
            editable: packages.editable.clone(),
        }
    }
}

/// Finds the first interpreter that is new enough and of the pinned version; else one that is new enough.
pub(super) async fn find(
    session: &Session,
    packages: &PythonPackages,
    options: &Options,
    required: &Required,
) -> Result<Interpreter, Error> {
    let mut other = None;
    let mut rejected = Vec::new();
    let mut candidates = candidates(&session.directory, packages, options);
    if options.python.is_none() {
        let at = candidates.iter().take_while(|path| !is_on_path(path, &options.surroundings)).count();
        candidates.splice(at..at, uv_choice(session, packages, &options.surroundings).await);
    }
    for path in candidates {
        let inspection = match inspect(&path, &session.directory, required).await {
            Ok(inspection) => inspection,
            Err(reason) => {
                rejected.push(format!("`{}` {reason}", path.display()));
                continue;
            }
        };
        let (major, minor) = inspection.version;
        if inspection.version < OLDEST_PYTHON {
            rejected.push(format!("`{}` is Python {major}.{minor}", path.display()));
            continue;
        }
        let Some(pinned) = packages.version.as_ref().filter(|pinned| **pinned != format!("{major}.{minor}"))
        else {
            return Ok(Interpreter { path, inspection, warning: None });
        };
        let warning =
            format!("the configuration pins Python {pinned}, and `{}` is {major}.{minor}", path.display());
        other.get_or_insert(Interpreter { path, inspection, warning: Some(warning) });
    }
    other.ok_or_else(|| none(rejected))
}

fn none(rejected: Vec<String>) -> Error {
    Error::NoInterpreter {
        wanted: "Python 3.11".to_owned(),
        rejected,
        hint: "install one (`apt install python3`, `brew install python`, `uv python install`), or pass one with \
               --python"
            .to_owned(),
    }
}

/// Interpreters that can be found without running a program, in order of preference.
fn candidates(directory: &Path, packages: &PythonPackages, options: &Options) -> Vec<PathBuf> {
    if let Some(python) = &options.python {
        return vec![python.clone()];
    }
    let surroundings = &options.surroundings;
    let environments = surroundings.virtual_env.iter().map(PathBuf::from).chain([directory.join(".venv")]);
    let environments = environments.map(|environment| environment.join("bin/python"));
    let pinned = packages.version.iter().map(|version| format!("python{version}"));
    let names: Vec<String> = pinned.chain(NAMES.iter().map(|&name| name.to_owned())).collect();
    let on_path = names.iter().flat_map(|name| {
        std::env::split_paths(&surroundings.path)
            .filter(|folder| !is_shims(folder))
            .map(move |folder| folder.join(name))
    });
    let mut found: Vec<PathBuf> = Vec::new();
    for path in environments.chain(pyenv_choice(directory, surroundings)).chain(on_path) {
        if path.is_file() && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn is_on_path(path: &Path, surroundings: &Surroundings) -> bool {
    std::env::split_paths(&surroundings.path).any(|folder| path.parent() == Some(folder.as_path()))
}

/// Whether the directory holds pyenv's shims, which run pyenv. Its choice is found without them.
fn is_shims(folder: &Path) -> bool {
    folder.ends_with("shims") && folder.parent().is_some_and(|root| root.join("versions").is_dir())
}

/// The interpreter that pyenv would run in `directory`.
fn pyenv_choice(directory: &Path, surroundings: &Surroundings) -> Option<PathBuf> {
    let root = surroundings.pyenv_root.as_ref()?;
    let local = || directory.ancestors().find_map(|it| fs::read_to_string(it.join(".python-version")).ok());
    let global = || fs::read_to_string(root.join("version")).ok();
    let text = surroundings.pyenv_version.clone().or_else(local).or_else(global)?;
    let version = text.split([':', '\n']).map(str::trim).find(|line| !line.is_empty())?.to_owned();
    let versions = root.join("versions");
    let exact = versions.join(&version);
    let newest = || {
        let entries = fs::read_dir(&versions).ok()?.flatten();
        let of_series = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let patch = name.strip_prefix(&version)?.strip_prefix('.')?.parse::<u32>().ok()?;
            Some((patch, entry.path()))
        });
        of_series.max().map(|(_, path)| path)
    };
    let chosen = if exact.is_dir() { Some(exact) } else { newest() };
    chosen.map(|path| path.join("bin/python"))
}

/// The interpreter that uv would choose, if uv is installed, without downloading one.
async fn uv_choice(
    session: &Session,
    packages: &PythonPackages,
    surroundings: &Surroundings,
) -> Option<PathBuf> {
    let uv = on_path("uv", surroundings)?;
    let command = Command::new(uv, &session.directory).arguments(["python", "find", "--no-python-downloads"]);
    let command = command.arguments(&packages.version).without("VIRTUAL_ENV");
    let mut child = Child::start(&command, GRACE).ok()?;
    let status = child.finish(drop).await.ok()?;
    let path = child.last_lines().into_iter().map(PathBuf::from).find(|path| path.is_file());
    path.filter(|_| status.is_success())
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
) -> Result<Inspection, String> {
    let required = serde_json::to_string(required).map_err(|error| error.to_string())?;
    let command =
        Command::new(python, directory).argument("-I").argument("-c").argument(INSPECT).argument(required);
    let mut child = Child::start(&command, GRACE).map_err(|error| crate::project::reason(&error))?;
    let status = child.finish(drop).await.map_err(|error| crate::project::reason(&error))?;
    // The output may contain warnings, too.
    let answer = child.last_lines().into_iter().rev().find_map(|line| serde_json::from_str(&line).ok());
    answer.ok_or_else(|| match status.is_success() {
        true => "is not Python".to_owned(),
        false => format!("fails with {status}"),
    })
}
