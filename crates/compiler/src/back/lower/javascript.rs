//! JavaScript projects: the JavaScript server's image, and the JavaScript part of a mixed project.

use indexmap::IndexMap;
use serde_json::Value;

use crate::back::lower::{Build, Input, common, npm_secrets};
use crate::back::plan::{Action, Command, Mount, NodeProject};
use crate::manifests::installation::Installation;
use crate::manifests::package_manager::Manager;
use crate::{paths, server};

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    npm_secrets::stage(input, build);
    common::source_stage(input, build);
    common::base(input, None, build);
    let project = || Action::Workdir { path: input.layout.project.clone() };
    build.step("/graphs", "", project());
    let installed = input.options.install_command.is_none() && packages(input, build);
    build.step("/graphs", "server settings", Action::Env { variables: contract.clone() });
    common::source(input, build);
    if let Some(command) = &input.options.install_command {
        let path = input.layout.in_image(&paths::normalize(&input.options.called_from));
        build.step("/graphs", "", Action::Workdir { path });
        build.step("/graphs", "custom install command", with_secrets(input, command));
        build.step("/graphs", "", project());
    } else if !installed {
        install_after_copy(input, build);
    }
    if let Some(command) = &input.options.build_command {
        build.step("/graphs", "custom build command", with_secrets(input, command));
    }
    prebuild(build);
}

/// Compiles graphs and UI components with the server's own script.
pub(super) fn prebuild(build: &mut Build) {
    build.step("/graphs", "prebuilt JavaScript graphs and UI components", shell(server::BUILD_JAVASCRIPT));
}

/// Installs packages from the manifests alone, before the source is there. Returns false if they need the source.
pub(super) fn packages(input: &Input<'_>, build: &mut Build) -> bool {
    let Some(installation) = &input.resolved.installation else { return true };
    if let Some(why) = &installation.needs_source {
        build.note(
            "/graphs",
            format!("each edit of the source installs the JavaScript packages again: {why}"),
        );
        return false;
    }
    // A member that is not part of the context has no manifest to copy.
    let is_sent = |file: &&String| !input.ignore.excludes(&input.layout.in_context(file));
    let files = installation.files.iter().filter(|file| !installation.secret.contains(file));
    let files: Vec<String> = files.filter(is_sent).cloned().collect();
    common::copy_manifests(input, &files, build);
    install(input, installation, "JavaScript packages", build);
    true
}

/// Installs packages that need the source.
pub(super) fn install_after_copy(input: &Input<'_>, build: &mut Build) {
    if let Some(installation) = &input.resolved.installation {
        install(input, installation, "JavaScript packages that need the source", build);
    }
}

/// How `dev` installs the project's packages; nothing if there are none.
pub(super) fn project(input: &Input<'_>) -> Option<NodeProject> {
    let installation = input.resolved.installation.as_ref().filter(|installation| !installation.is_empty)?;
    Some(NodeProject {
        root: installation.root.clone(),
        install: installation.command_here().split(' ').map(str::to_owned).collect(),
        package: installation.package.clone(),
        manifests: installation.files.clone(),
    })
}

/// Runs the package manager at its root.
fn install(input: &Input<'_>, installation: &Installation, why: &str, build: &mut Build) {
    if let Some(command) = installation.manager.bootstrap(&installation.package) {
        let mounts = vec![Mount::Cache { target: Manager::npm_cache().to_owned() }];
        let commands = vec![Command::Shell(command)];
        build.step("/graphs", installation.manager.name, Action::Run { mounts, commands });
    }
    let root = input.layout.in_image(&installation.root);
    let is_elsewhere = root != input.layout.project;
    if is_elsewhere {
        build.step("/graphs", why, Action::Workdir { path: root });
    }
    let mut mounts = vec![Mount::Cache { target: installation.manager.cache.to_owned() }];
    mounts.extend(npm_secrets::mounts(input));
    let tidy = installation.manager.without_time.map(str::to_owned);
    let commands = [installation.command()].into_iter().chain(tidy).map(Command::Shell).collect();
    build.step("/graphs", why, Action::Run { mounts, commands });
    if is_elsewhere {
        build.step("/graphs", why, Action::Workdir { path: input.layout.project.clone() });
    }
}

fn shell(command: &str) -> Action {
    Action::Run { mounts: Vec::new(), commands: vec![Command::Shell(command.to_owned())] }
}

/// A command of the user, which may run the package manager.
fn with_secrets(input: &Input<'_>, command: &str) -> Action {
    Action::Run { mounts: npm_secrets::mounts(input), commands: vec![Command::Shell(command.to_owned())] }
}
