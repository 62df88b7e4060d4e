//! JavaScript projects: the JavaScript server's image, and the JavaScript part of a mixed project.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::back::lower::{Build, Input, common};
use crate::compiler::back::plan::{Action, Command, Mount, NodeProject, Variant};
use crate::compiler::files::Files;
use crate::compiler::manifests::package_json::Manifest;
use crate::compiler::{paths, server};

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    common::base(input, build);
    let project = || Action::Workdir { path: input.layout.project.clone() };
    build.step("/graphs", "", project());
    let installed = input.options.install_command.is_none() && packages(input, build);
    build.step("/graphs", "server settings", Action::Env { variables: contract.clone() });
    common::source(input, build);
    if let Some(command) = &input.options.install_command {
        let path = input.layout.in_image(&paths::normalize(&input.options.called_from));
        build.step("/graphs", "", Action::Workdir { path });
        build.step("/graphs", "custom install command", shell(command));
        build.step("/graphs", "", project());
    } else if !installed {
        install_after_copy(input, build);
    }
    if let Some(command) = &input.options.build_command {
        build.step("/graphs", "custom build command", shell(command));
    }
    prebuild(build);
}

/// Compiles graphs and UI components with the server's own script.
pub(super) fn prebuild(build: &mut Build) {
    build.step("/graphs", "prebuilt JavaScript graphs and UI components", shell(server::BUILD_JAVASCRIPT));
}

/// Whether the build installs packages from package.json, rather than a custom command or nothing.
pub(super) fn installs(input: &Input<'_>) -> bool {
    let is_custom = input.resolved.variant == Variant::Javascript && input.options.install_command.is_some();
    input.resolved.package_json.is_some() && !is_custom
}

/// Installs packages from the manifests alone, before the source is there. Returns false if they need the source.
pub(super) fn packages(input: &Input<'_>, build: &mut Build) -> bool {
    let Some(manifest) = &input.resolved.package_json else { return true };
    if let Some(why) = manifest.needs_source(input.files) {
        build.note(
            "/graphs",
            format!("each edit of the source installs the JavaScript packages again: {why}"),
        );
        return false;
    }
    common::copy_manifests(input, &manifest.files(input.files), build);
    build.step("/graphs", "JavaScript packages", install(manifest, input.files));
    true
}

/// Installs packages that need the source.
pub(super) fn install_after_copy(input: &Input<'_>, build: &mut Build) {
    if let Some(manifest) = &input.resolved.package_json {
        build.step("/graphs", "JavaScript packages that need the source", install(manifest, input.files));
    }
}

/// How `dev` installs the project's packages; nothing if there are none.
pub(super) fn project(input: &Input<'_>) -> Option<NodeProject> {
    let manifest = input.resolved.package_json.as_ref().filter(|manifest| !manifest.is_empty())?;
    let install = manifest.command_here(input.files);
    Some(NodeProject {
        install: install.split(' ').map(str::to_owned).collect(),
        manifests: manifest.files(input.files),
    })
}

fn install(manifest: &Manifest, files: &dyn Files) -> Action {
    let manager = manifest.manager(files);
    let mounts = vec![Mount::Cache { target: manager.cache.to_owned() }];
    Action::Run { mounts, commands: vec![Command::Shell(manager.command(files).to_owned())] }
}

fn shell(command: &str) -> Action {
    Action::Run { mounts: Vec::new(), commands: vec![Command::Shell(command.to_owned())] }
}
