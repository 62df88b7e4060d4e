//! JavaScript projects: the JavaScript server's image, and the JavaScript half of a mixed one.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::back::lower::{Build, Input, Options, common, image};
use crate::compiler::back::plan::{Action, Command, Mount, NodeProject, Variant};
use crate::compiler::files::Files;
use crate::compiler::manifests::package_json::{self, Manifest};
use crate::compiler::{paths, server};

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    common::base(input, &image::reference(input.config, input.variant), None, build);
    let project = || Action::Workdir { path: input.layout.project.clone() };
    build.step("/graphs", "", project());
    let installed = input.options.install_command.is_none() && packages(input, build);
    build.step(
        "/graphs",
        "what the server reads from its environment",
        Action::Env { variables: contract.clone() },
    );
    common::source(input, build);
    if let Some(command) = &input.options.install_command {
        let path = input.layout.in_image(&paths::normalize(&input.options.called_from));
        build.step("/graphs", "", Action::Workdir { path });
        build.step("/graphs", "the project's own installation", shell(command));
        build.step("/graphs", "", project());
    } else if !installed {
        install_behind_copy(input, build);
    }
    if let Some(command) = &input.options.build_command {
        build.step("/graphs", "the project's own build", shell(command));
    }
    prepare(build);
}

/// Prepares graphs and UI components, as the server's image does it.
pub(super) fn prepare(build: &mut Build) {
    build.step("/graphs", "JavaScript prepared for the server", shell(server::BUILD_JAVASCRIPT));
}

/// Whether the build installs packages from the project's manifests; else there are none, or the user's own command
/// does it.
pub(super) fn installs(files: &dyn Files, variant: Variant, options: &Options) -> bool {
    let is_usual = variant == Variant::Mixed || options.install_command.is_none();
    variant != Variant::Python && is_usual && manifest(files).is_some()
}

/// Installs packages before the source is there, from the manifests alone; whether that was done.
pub(super) fn packages(input: &Input<'_>, build: &mut Build) -> bool {
    let Some(manifest) = manifest(input.files) else { return true };
    if let Some(why) = manifest.needs_source(input.files) {
        build.note("/graphs", format!("packages are installed again on every edit of the source: {why}"));
        return false;
    }
    common::copy_manifests(input, &manifest.files(input.files), build);
    build.step("/graphs", "packages from outside", install(&manifest, input.files));
    true
}

/// Installs packages behind the copy of the source.
pub(super) fn install_behind_copy(input: &Input<'_>, build: &mut Build) {
    if let Some(manifest) = manifest(input.files) {
        build.step("/graphs", "packages that need their source", install(&manifest, input.files));
    }
}

/// What the project's own packages need where it lies on the user's machine; nothing where it has none.
pub(super) fn project(files: &dyn Files) -> Option<NodeProject> {
    let manifest = manifest(files).filter(|manifest| !manifest.is_empty())?;
    let install = manifest.manager(files).command_here(files);
    Some(NodeProject {
        install: install.split(' ').map(str::to_owned).collect(),
        manifests: manifest.files(files),
    })
}

fn install(manifest: &Manifest, files: &dyn Files) -> Action {
    let manager = manifest.manager(files);
    let mounts = vec![Mount::Cache { target: manager.cache.to_owned() }];
    Action::Run { mounts, commands: vec![Command::Shell(manager.command(files).to_owned())] }
}

fn manifest(files: &dyn Files) -> Option<Manifest> {
    package_json::find(files)?.ok()
}

fn shell(command: &str) -> Action {
    Action::Run { mounts: Vec::new(), commands: vec![Command::Shell(command.to_owned())] }
}
