//! The directories that a configuration needs: they are part of the project, wherever they lie.

use crate::compiler::files::Files;
use crate::compiler::front::config::Config;
use crate::compiler::front::workspace::locked;
use crate::compiler::manifests::dependency::local_dependencies;
use crate::compiler::manifests::local_requirements::Closure;
use crate::compiler::manifests::uv_workspace::Workspace;
use crate::compiler::manifests::{package_json, workspace};
use crate::compiler::paths;

/// The local dependencies, the directories that they require, and the roots of their workspaces, relative to the
/// configuration's directory. Some of them may not exist.
pub fn extent(config: &Config, files: &dyn Files) -> Vec<String> {
    let named = config.source.iter().map(|source| paths::normalize(&source.root));
    let mut found: Vec<String> = named.collect();
    let direct = local_dependencies(config.entries(), files);
    let locals = match locked(config, files) {
        Some(locked) => locked.locals,
        None => Closure::new(direct, files).locals,
    };
    for local in locals.iter().filter(|local| local.is_project()) {
        found.extend(Workspace::of(&local.path, files).map(|workspace| workspace.root));
    }
    found.extend(locals.into_iter().map(|local| local.path));
    if config.has_javascript() {
        found.extend(javascript_workspaces(files));
    }
    found
}

/// The roots of the workspaces that list the configuration's directory.
fn javascript_workspaces(files: &dyn Files) -> Vec<String> {
    let Some(Ok(own)) = package_json::find(".", files) else { return Vec::new() };
    let Ok(search) = workspace::search(&own, files) else { return Vec::new() };
    [search.found, search.excluded].into_iter().flatten().map(|workspace| workspace.root).collect()
}
