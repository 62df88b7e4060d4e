//! Lock files beside the manifests of local dependencies.

use toml::Table;

use super::{Locked, python};
use crate::compiler::files::Files;
use crate::compiler::front::config::Config;
use crate::compiler::manifests;
use crate::compiler::manifests::dependency::Local;
use crate::compiler::manifests::pyproject::Pyproject;
use crate::compiler::manifests::uv_lock::{self, Lock, Request, Selected};
use crate::compiler::paths;

/// The packages of the lock file beside the manifest of a local dependency, or why they are not used, as a lowercase
/// fragment; `None` if there is no lock file, or the Python version is not known.
pub fn beside(local: &Local, config: &Config, files: &dyn Files) -> Option<Result<Locked, String>> {
    let python = python(config)?;
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    let text = manifests::text(&paths::join(&local.path, uv_lock::NAME), files)?;
    let lock = text.and_then(|text| uv_lock::read(&text));
    let lock = lock.map_err(|broken| format!("it is invalid: {}", broken.message));
    Some(lock.and_then(|lock| locked(&lock, &local.path, manifest, python, files)))
}

/// The packages for the project in `directory`, which has this manifest.
fn locked(
    lock: &Lock,
    directory: &str,
    manifest: &Table,
    python: String,
    files: &dyn Files,
) -> Result<Locked, String> {
    if !lock.includes_python(&python) {
        let required = lock.requires_python.as_deref().unwrap_or_default();
        return Err(format!("it is for Python {required}, and the server has Python {python}"));
    }
    if !lock.includes_linux(&python) {
        return Err("it is not for Linux".to_owned());
    }
    let root = lock.locals().find(|(_, path)| paths::normalize(path) == ".");
    let (target, _) = root.ok_or("it does not contain the project beside it")?;
    let request = Request { package: &target.name, python: &python, ..Request::default() };
    let closure = lock.closure(&request).map_err(|why| format!("it is incomplete: {why}"))?;
    let is_changed = |Selected { package, .. }: &&Selected| {
        let path = package.source.directory().map(|path| paths::join(directory, path));
        let own = path.map(|path| Pyproject::read(&path, files));
        matches!(own, Some(Pyproject::Manifest(own)) if package.difference(&own, manifest).is_some())
    };
    if let Some(changed) = closure.iter().find(is_changed) {
        return Err(format!("it is not made from the current requirements of `{}`", changed.package.name));
    }
    if let Some(without) = closure.iter().find(|it| it.has_no_file(&python)) {
        return Err(format!("it has no file of `{}` for Python {python} on Linux", without.package.name));
    }
    let is_third_party = |it: &Selected| it.package.source.directory().is_none();
    let packages = closure.into_iter().filter(is_third_party).collect();
    Ok(Locked { root: directory.to_owned(), python, packages, locals: Vec::new() })
}
