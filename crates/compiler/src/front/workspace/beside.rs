//! Lock files beside the manifests of local dependencies.

use std::rc::Rc;
use std::str::FromStr;

use pep508_rs::pep440_rs::{Version, VersionSpecifiers};
use toml::{Table, Value};

use super::{Locked, left_out, python, third_party};
use crate::files::Files;
use crate::front::config::Config;
use crate::manifests::dependency::Local;
use crate::manifests::pyproject::{Pyproject, table};
use crate::manifests::requirement::{self, Parts, normalized_name};
use crate::manifests::uv_lock::{FORMATS, Format, Lock, Request, Selected};
use crate::manifests::{self, Broken};
use crate::tree::Tree;
use crate::words::nearest;
use crate::{paths, server};

/// The most edits of a name that count as a misspelling.
const MAX_EDITS: usize = 2;

/// Names of at most this length have no misspellings.
const MIN_LENGTH: usize = 5;

/// The lock file beside the manifest of a local dependency.
pub fn lock_beside(local: &Local, files: &Tree) -> Option<&'static Format> {
    if !matches!(local.pyproject, Pyproject::Manifest(_)) {
        return None;
    }
    FORMATS.iter().find(|format| files.is_file(&paths::join(&local.path, format.name)))
}

/// A lock file that is not used.
#[derive(Clone)]
pub struct Unused {
    /// Why, as a lowercase fragment.
    pub why: String,
    /// How to fix it, as an imperative; `None` if updating it may do that.
    pub help: Option<String>,
}

impl From<String> for Unused {
    fn from(why: String) -> Self {
        Self { why, help: None }
    }
}

/// The first Python version of an image that `lock` is for, major.minor.
pub fn included_python(lock: &Lock) -> Option<String> {
    let mut all = server::PYTHONS.iter().map(|(major, minor)| format!("{major}.{minor}"));
    all.find(|version| lock.includes_python(version))
}

/// The packages of a lock file, or why they are not used.
type Used = Option<Result<Rc<Locked>, Unused>>;

/// The packages of that lock file, or why they are not used and how to fix it; `None` if there is no lock file, or
/// the Python version is not known.
pub fn beside(local: &Local, config: &Config, files: &Tree) -> Used {
    struct Known {
        python: String,
        used: Used,
    }
    let python = python(config)?;
    let format = lock_beside(local, files)?;
    let file = paths::join(&local.path, format.name);
    let read = || used(local, format, &file, &python, files);
    let known = files.parsed(&file, || Known { python: python.clone(), used: read() });
    if known.python == python { known.used.clone() } else { read() }
}

fn used(local: &Local, format: &Format, file: &str, python: &str, files: &Tree) -> Used {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    let lock = match manifests::parsed(file, format.read, files)? {
        Ok(lock) => lock,
        Err(Broken { message, help: None, .. }) => {
            return Some(Err(format!("it is invalid: {message}").into()));
        }
        Err(Broken { message, help, .. }) => return Some(Err(Unused { why: message, help })),
    };
    let locked = locked(&lock, &local.path, manifest, python.to_owned(), files);
    Some(locked.map(|locked| Rc::new(Locked { file: file.to_owned(), ..locked })))
}

/// The packages for the project in `directory`, which has this manifest.
fn locked(
    lock: &Lock,
    directory: &str,
    manifest: &Table,
    python: String,
    files: &Tree,
) -> Result<Locked, Unused> {
    if !lock.includes_python(&python) {
        let required = lock.requires_python.as_deref().unwrap_or_default();
        let why = format!("it is for Python {required}, and the server has Python {python}");
        let help = included_python(lock).map(|other| format!("write `\"python_version\": \"{other}\"`"));
        return Err(Unused { why, help });
    }
    if !lock.includes_linux(&python) {
        return Err("it is not for Linux".to_owned().into());
    }
    let root = lock.locals().find(|(_, path)| paths::normalize(path) == ".");
    let (target, _) = root.ok_or_else(|| "it does not contain the project beside it".to_owned())?;
    let request = Request { package: &target.name, python: &python, ..Request::default() };
    let closure = lock.closure(&request).map_err(|why| format!("it is incomplete: {why}"))?;
    let is_changed = |Selected { package, .. }: &&Selected| {
        if package.name.is_empty() {
            return lacks_requirements(lock, manifest);
        }
        let path = package.source.directory().map(|path| paths::join(directory, path));
        let own = path.map(|path| Pyproject::read(&path, files));
        matches!(own, Some(Pyproject::Manifest(own)) if package.difference(&own, manifest).is_some())
    };
    if let Some(changed) = closure.iter().find(is_changed) {
        if let Some((name, locked)) = misspelt(lock, manifest) {
            let why = format!("it has `{locked}`, and the pyproject.toml requires `{name}`");
            return Err(Unused { why, help: Some(format!("did you mean `{locked}`? If not, lock again")) });
        }
        let name = Some(&changed.package.name).filter(|name| !name.is_empty());
        let of = name.map(|name| format!(" of `{name}`")).unwrap_or_default();
        return Err(format!("it is not made from the current requirements{of}").into());
    }
    if let Some(without) = closure.iter().find(|it| it.has_no_file(&python)) {
        let name = &without.package.name;
        return Err(format!("it has no file of `{name}` for Python {python} on Linux").into());
    }
    let left_out = left_out(lock, &closure, &target.name);
    let has_members = lock.has_members();
    let (root, packages) = (directory.to_owned(), third_party(closure));
    let (file, locals) = (String::new(), Vec::new());
    Ok(Locked { file, root, python, target: None, packages, has_members, left_out, locals })
}

/// A name that `manifest` requires and `lock` lacks, and the similar one that it has and `manifest` does not require.
fn misspelt(lock: &Lock, manifest: &Table) -> Option<(String, String)> {
    let project = table(manifest, &["project"]).and_then(|project| project.get("dependencies")?.as_array());
    let listed = project.into_iter().flatten().filter_map(Value::as_str).filter_map(requirement::name);
    let poetry = table(manifest, &["tool", "poetry", "dependencies"]).into_iter().flatten();
    let poetry = poetry.map(|(name, _)| normalized_name(name)).filter(|name| name != "python");
    let required: Vec<String> = listed.chain(poetry).collect();
    let locked = || lock.packages.iter().map(|package| package.name.as_str());
    let absent = required.iter().filter(|name| locked().all(|other| other != *name));
    absent.into_iter().find_map(|name| {
        let others = locked().filter(|other| !required.iter().any(|name| name == other));
        // Short words, and those that start differently, are similar by chance.
        let others =
            others.filter(|other| other.len() > MIN_LENGTH && other.chars().next() == name.chars().next());
        let (edits, near) = nearest(name, others)?;
        (edits <= MAX_EDITS).then(|| (name.clone(), near.to_owned()))
    })
}

/// Whether an unconditional requirement of `manifest` certainly has no version in `lock`.
fn lacks_requirements(lock: &Lock, manifest: &Table) -> bool {
    let project = table(manifest, &["project"]).and_then(|project| project.get("dependencies")?.as_array());
    let written = project.into_iter().flatten().filter_map(Value::as_str).filter(|text| !text.contains(';'));
    let lacks = |Parts { name, versions, .. }: Parts| {
        let versions = versions.and_then(|versions| VersionSpecifiers::from_str(&versions).ok());
        let is_met = |version: &String| {
            versions
                .as_ref()
                .is_none_or(|it| Version::from_str(version).is_ok_and(|version| it.contains(&version)))
        };
        let mut all = lock.packages.iter().filter(|package| package.name == name);
        !all.any(|package| package.version.as_ref().is_none_or(is_met))
    };
    let poetry = table(manifest, &["tool", "poetry", "dependencies"]).into_iter().flatten();
    let poetry = poetry.filter(|(name, versions)| *name != "python" && versions.is_str());
    let is_absent = |name: String| !lock.packages.iter().any(|package| package.name == name);
    written.filter_map(requirement::parts).any(lacks)
        || poetry.map(|(name, _)| normalized_name(name)).any(is_absent)
}
