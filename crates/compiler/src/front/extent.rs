//! The workspaces that list the directory of a configuration.

use crate::front::config::Config;
use crate::manifests::uv_workspace::Workspace;
use crate::manifests::{installation, package_json, workspace};
use crate::paths;
use crate::tree::Tree;

/// The roots of these workspaces, relative to the configuration's directory. What the configuration itself names widens
/// nothing: a project of somebody else may name anything.
pub fn extent(config: &Config, files: &Tree) -> Vec<String> {
    let python = Workspace::of(".", files).map(|workspace| workspace.root);
    python.into_iter().chain(javascript_workspace(config, files)).collect()
}

/// The root of the workspace of the package.json of the JavaScript graphs, if that is in the configuration's directory.
fn javascript_workspace(config: &Config, files: &Tree) -> Option<String> {
    let directories = if config.has_javascript() { config.package_directories(files) } else { Vec::new() };
    let home = installation::home(&directories, files).filter(|home| paths::levels_up(home) == 0)?;
    let own = package_json::find(&home, files)?.ok()?;
    workspace::search(&own, &home, files).ok()?.found.map(|workspace| workspace.root)
}
