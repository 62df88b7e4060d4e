//! The Python interpreters on this machine: those of environments, of the PATH, of pyenv and of uv.

use std::fs;
use std::path::{Path, PathBuf};

use super::answer::answer;
use super::interpreter::on_path;
use super::session::{Selection, Surroundings};
use crate::child::Command;

/// Interpreters on the PATH, in order of preference.
const NAMES: &[&str] = &["python3", "python", "python3.13", "python3.12", "python3.11", "python3.14"];

/// The active environment, and the nearest `.venv` of the repository.
pub(super) fn environments(directory: &Path, surroundings: &Surroundings) -> Vec<PathBuf> {
    let active = surroundings.virtual_env.iter().map(PathBuf::from).filter(|path| path.is_dir());
    let mut found: Vec<PathBuf> = active.collect();
    for folder in directory.ancestors() {
        let environment = folder.join(".venv");
        if environment.is_dir() {
            let is_active = found.iter().any(|it| it.canonicalize().ok() == environment.canonicalize().ok());
            found.extend((!is_active).then_some(environment));
            break;
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    found
}

/// The content of the nearest `.python-version`, without comments.
fn python_version_file(directory: &Path) -> Option<String> {
    let text = directory.ancestors().find_map(|it| fs::read_to_string(it.join(".python-version")).ok())?;
    first_version(&text)
}

fn first_version(text: &str) -> Option<String> {
    let mut lines = text.split([':', '\n']).map(str::trim);
    lines.find(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned)
}

/// The series that `.python-version` selects, such as `3.12`.
pub(super) fn selected_series(directory: &Path) -> Option<String> {
    let version = python_version_file(directory)?;
    let numbers: Vec<&str> = version.trim_start_matches("cpython-").split('.').take(2).collect();
    let is_series = numbers.len() == 2 && numbers.iter().all(|it| it.parse::<u32>().is_ok());
    is_series.then(|| numbers.join("."))
}

/// The interpreters on the PATH, those of the `preferred` series first.
pub(super) fn of_path(preferred: &[String], surroundings: &Surroundings) -> Vec<PathBuf> {
    let names = preferred.iter().map(|series| format!("python{series}"));
    let names: Vec<String> = names.chain(NAMES.iter().map(|&name| name.to_owned())).collect();
    let folders = || std::env::split_paths(&surroundings.path).filter(|folder| !is_shims(folder));
    let all = names.iter().flat_map(|name| folders().map(move |folder| folder.join(name)));
    all.filter(|path| path.is_file()).collect()
}

/// Whether the directory holds pyenv's shims, which run pyenv. Its choice is found without them.
fn is_shims(folder: &Path) -> bool {
    folder.ends_with("shims") && folder.parent().is_some_and(|root| root.join("versions").is_dir())
}

/// The interpreter that pyenv would run in `directory`.
pub(super) fn pyenv_choice(directory: &Path, surroundings: &Surroundings) -> Option<PathBuf> {
    let global =
        || first_version(&fs::read_to_string(surroundings.pyenv_root.as_ref()?.join("version")).ok()?);
    let active = surroundings.pyenv_version.as_deref().and_then(first_version);
    let version = active.or_else(|| python_version_file(directory)).or_else(global)?;
    of_pyenv(&version, surroundings)
}

/// The interpreter that pyenv has of a version, or of the newest release of a series.
pub(super) fn of_pyenv(version: &str, surroundings: &Surroundings) -> Option<PathBuf> {
    let versions = surroundings.pyenv_root.as_ref()?.join("versions");
    let exact = versions.join(version);
    let newest = || {
        let entries = fs::read_dir(&versions).ok()?.flatten();
        let of_series = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let patch = name.strip_prefix(version)?.strip_prefix('.')?.parse::<u32>().ok()?;
            Some((patch, entry.path()))
        });
        of_series.max().map(|(_, path)| path)
    };
    let chosen = if exact.is_dir() { Some(exact) } else { newest() };
    chosen.map(|path| path.join("bin/python")).filter(|path| path.is_file())
}

/// The interpreter that uv would choose for the project, or of a series, without downloading one.
pub(super) async fn of_uv(series: Option<&str>, directory: &Path, selection: &Selection) -> Option<PathBuf> {
    let uv = on_path("uv", &selection.surroundings)?;
    let find = ["python", "find", "--system", "--no-python-downloads"];
    let command = Command::new(uv, directory).arguments(find).arguments(series).without("VIRTUAL_ENV");
    let (status, lines) = answer(&command, selection.timeout).await.ok()?;
    let path = lines.into_iter().map(PathBuf::from).find(|path| path.is_file());
    path.filter(|_| status.is_success())
}
