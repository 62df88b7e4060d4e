//! The directories that a configuration spans: everything that it names, and what belongs to that.

use crate::front::config::Config;
use crate::front::reference;
use crate::front::workspace::locked;
use crate::manifests::dependency::local_dependencies;
use crate::manifests::local_requirements::Closure;
use crate::manifests::uv_workspace::Workspace;
use crate::manifests::workspace::{self, Search};
use crate::manifests::{installation, package_json};
use crate::paths;
use crate::tree::Tree;

/// The local dependencies, the directories that they require, the roots of their workspaces, and the directories of the
/// files that the configuration names, all relative to the configuration's directory. Some of them may not exist.
pub fn extent(config: &Config, files: &Tree) -> Vec<String> {
    let root = config.source.iter().map(|source| paths::normalize(&source.root));
    let mut found: Vec<String> =
        root.chain(named_files(config).map(|file| paths::parent(&file).to_owned())).collect();
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
        found.extend(javascript_packages(config, files));
    }
    found
}

/// The files that the configuration names.
fn named_files(config: &Config) -> impl Iterator<Item = String> {
    let references = reference::all(&config.value).into_iter();
    let references = references.map(|located| located.text[located.path_part()].to_owned());
    let files = reference::files(&config.value).map(|file| file.path);
    references.chain(files).map(|path| paths::normalize(&path))
}

/// The directory of the package.json of the JavaScript graphs, and the roots of the workspaces around it.
fn javascript_packages(config: &Config, files: &Tree) -> Vec<String> {
    let Some(home) = installation::home(&config.package_directories(files), files) else { return Vec::new() };
    let Some(Ok(own)) = package_json::find(&home, files) else { return vec![home] };
    let workspaces = match workspace::search(&own, &home, files) {
        Ok(Search { found, passed, excluded }) => {
            [found, passed, excluded].into_iter().flatten().map(|workspace| workspace.root).collect()
        }
        // Another check reports it.
        Err(unreadable) => vec![paths::parent(&unreadable.path).to_owned()],
    };
    [vec![home], workspaces].concat()
}
