//! Which Python runs the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::session::{Options, Session, Surroundings};
use crate::child::{Child, Command};
use crate::compiler::back::plan::PythonPackages;
use crate::compiler::server::local::OLDEST_PYTHON;

/// Tells what an interpreter is, and what is missing in it.
const LOOK: &str = include_str!("look.py");

/// Interpreters on the PATH, most wanted first.
const NAMES: &[&str] = &["python3", "python", "python3.13", "python3.12", "python3.11", "python3.14"];

/// How long an interpreter that is only asked may take to end once it is told to.
const GRACE: Duration = Duration::from_secs(1);

/// What an interpreter tells of itself.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Look {
    /// Major and minor.
    pub(super) version: (u32, u32),
    /// What of the wanted packages it does not have, in words.
    pub(super) missing: Vec<String>,
    /// Where its packages lie.
    #[serde(default)]
    pub(super) packages: PathBuf,
}

/// An interpreter that will do.
pub(super) struct Interpreter {
    pub(super) path: PathBuf,
    pub(super) look: Look,
    /// What it is not, though it should be: the pinned version.
    pub(super) warning: Option<String>,
}

/// What has to be there.
#[derive(Serialize)]
pub(super) struct Wanted {
    pub(super) requirements: Vec<String>,
    files: Vec<String>,
    editable: Vec<String>,
}

impl Wanted {
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
    wanted: &Wanted,
) -> Result<Interpreter, Error> {
    let mut other = None;
    let mut looked = Vec::new();
    let mut candidates = candidates(&session.directory, packages, options);
    if options.python.is_none() {
        let at = candidates.iter().take_while(|path| !is_on_path(path, &options.surroundings)).count();
        candidates.splice(at..at, uv_choice(session, packages, &options.surroundings).await);
    }
    for path in candidates {
        let look = match look(&path, &session.directory, wanted).await {
            Ok(look) => look,
            Err(reason) => {
                looked.push(format!("`{}` {reason}", path.display()));
                continue;
            }
        };
        let (major, minor) = look.version;
        if look.version < OLDEST_PYTHON {
            looked.push(format!("`{}` is Python {major}.{minor}", path.display()));
            continue;
        }
        let Some(pinned) = packages.version.as_ref().filter(|pinned| **pinned != format!("{major}.{minor}"))
        else {
            return Ok(Interpreter { path, look, warning: None });
        };
        let warning =
            format!("the configuration pins Python {pinned}, and `{}` is {major}.{minor}", path.display());
        other.get_or_insert(Interpreter { path, look, warning: Some(warning) });
    }
    other.ok_or_else(|| none(looked))
}

fn none(looked: Vec<String>) -> Error {
    Error::NoInterpreter {
        wanted: "Python 3.11".to_owned(),
        looked,
        hint: "install one (`apt install python3`, `brew install python`, `uv python install`), or name one with \
               --python"
            .to_owned(),
    }
}

/// Where an interpreter may be, most wanted first, without asking any program.
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

/// pyenv's shims ask pyenv which interpreter is meant; that is found out without them.
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

/// The interpreter that uv would take, where there is uv. It is not let to fetch one.
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

/// Asks an interpreter; a fragment says why it does not answer.
pub(super) async fn look(python: &Path, directory: &Path, wanted: &Wanted) -> Result<Look, String> {
    let wanted = serde_json::to_string(wanted).map_err(|error| error.to_string())?;
    let command =
        Command::new(python, directory).argument("-I").argument("-c").argument(LOOK).argument(wanted);
    let mut child = Child::start(&command, GRACE).map_err(|error| crate::project::reason(&error))?;
    let status = child.finish(drop).await.map_err(|error| crate::project::reason(&error))?;
    // Among the lines may be warnings.
    let answer = child.last_lines().into_iter().rev().find_map(|line| serde_json::from_str(&line).ok());
    answer.ok_or_else(|| match status.is_success() {
        true => "is no Python".to_owned(),
        false => format!("does not run: {status}"),
    })
}
