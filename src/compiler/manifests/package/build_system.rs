//! What builds a package: the `[build-system]` table of PEP 517 and PEP 518.

use toml::Table;

use super::{string, strings, uv_settings_for};
use crate::compiler::files::Files;
use crate::compiler::manifests::pyproject::{read, table};
use crate::compiler::manifests::requirement;
use crate::compiler::paths;

/// The backend where none is named: setuptools as it was before there were backends.
pub(super) const LEGACY: &str = "setuptools.build_meta:__legacy__";

/// What builds a package, and what that needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSystem {
    /// Its requirements (PEP 508).
    pub requires: Vec<String>,
    /// The backend: a module, and behind a `:` the object in it, if it is not the module itself.
    pub backend: String,
    /// Directories of the package that the backend itself is imported from, relative to the package.
    pub paths: Vec<String>,
}

/// What builds the package in the directory `path`, where its manifest says all: nothing where uv, started in the
/// project, reads settings that may concern a build.
pub fn build_system(path: &str, files: &dyn Files) -> Option<BuildSystem> {
    let manifest = manifest(path, files)?;
    self::manifest(".", files)?;
    if uv_settings_for(path, files).is_some() {
        return None;
    }
    let system = table(&manifest, &["build-system"]);
    let backend = system.and_then(|system| string(system, "build-backend"));
    let requires = system.map_or_else(|| vec!["setuptools".to_owned()], |system| strings(system, "requires"));
    let sources: Vec<String> = table(&manifest, &["tool", "uv", "sources"])
        .map(|sources| sources.keys().map(|name| requirement::normalized_name(name)).collect())
        .unwrap_or_default();
    // An address may hold credentials, or lead into the source.
    let is_plain = |requirement: &String| {
        let name = requirement::name(requirement);
        !requirement.contains('@') && name.is_some_and(|name| !sources.contains(&name))
    };
    requires.iter().all(is_plain).then(|| BuildSystem {
        backend: backend.unwrap_or_else(|| LEGACY.to_owned()),
        paths: system.map(|system| strings(system, "backend-path")).unwrap_or_default(),
        requires,
    })
}

/// An empty one where there is none; nothing where it cannot be read.
fn manifest(directory: &str, files: &dyn Files) -> Option<Table> {
    let text = files.text(&paths::join(directory, "pyproject.toml")).unwrap_or_default();
    read(&text).ok()
}
