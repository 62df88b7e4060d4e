//! JavaScript projects: the JavaScript server's image, and the JavaScript part of a mixed project.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::back::lower::{Build, Input, common};
use crate::compiler::back::plan::{Action, Command, Mount, NodeProject, Variant};
use crate::compiler::manifests::installation::Installation;
use crate::compiler::{paths, server};

/// The stage that holds the root's `.npmrc` if it has credentials, and its path there.
const NPM_STAGE: (&str, &str) = ("npm", "/.npmrc");

/// Where it is mounted during installation: all package managers read it there.
const NPMRC: &str = "/root/.npmrc";

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    stage(input, build);
    common::source_stage(input, build);
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
    note_unbuilt(input, build);
    prebuild(build);
}

/// A stage that holds the root's `.npmrc`, if it has credentials.
pub(super) fn stage(input: &Input<'_>, build: &mut Build) {
    let Some(file) = secret(input) else { return };
    let (stage, target) = NPM_STAGE;
    let why = "credentials of .npmrc, mounted during installation only";
    build.step("/graphs", why, Action::From { image: "scratch".to_owned(), stage: Some(stage.to_owned()) });
    let sources = vec![input.layout.in_context(file)];
    build.step("/graphs", why, Action::Copy { from: None, sources, target: target.to_owned() });
}

/// The root's `.npmrc`, if it has credentials and is part of the context.
fn secret<'a>(input: &Input<'a>) -> Option<&'a String> {
    let installation = installation(input)?;
    let file = installation.secret.iter().find(|file| paths::parent(file) == installation.root)?;
    (!input.ignore.excludes(&input.layout.in_context(file))).then_some(file)
}

/// Notes a package of the workspace that cannot be imported, unless a command of the user builds it.
fn note_unbuilt(input: &Input<'_>, build: &mut Build) {
    let unbuilt = input.resolved.installation.as_ref().and_then(|installation| installation.unbuilt.as_ref());
    if let Some((name, file)) = unbuilt.filter(|_| input.options.build_command.is_none()) {
        let message = format!(
            "`{name}` cannot be imported until `{file}` is built; build it, or pass the command with --build-command"
        );
        build.note("/graphs", message);
    }
}

/// Compiles graphs and UI components with the server's own script.
pub(super) fn prebuild(build: &mut Build) {
    build.step("/graphs", "prebuilt JavaScript graphs and UI components", shell(server::BUILD_JAVASCRIPT));
}

/// The installation of the packages in the image; none with a custom command or without a package.json.
pub(super) fn installation<'a>(input: &Input<'a>) -> Option<&'a Installation> {
    let is_custom = input.resolved.variant == Variant::Javascript && input.options.install_command.is_some();
    input.resolved.installation.as_ref().filter(|_| !is_custom)
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
    let root = input.layout.in_image(&installation.root);
    let is_elsewhere = root != input.layout.project;
    if is_elsewhere {
        build.step("/graphs", why, Action::Workdir { path: root });
    }
    let mut mounts = vec![Mount::Cache { target: installation.manager.cache.to_owned() }];
    mounts.extend(secret(input).map(|_| {
        let (stage, source) = NPM_STAGE;
        Mount::Bind { from: stage.to_owned(), source: source.to_owned(), target: NPMRC.to_owned() }
    }));
    let commands = vec![Command::Shell(installation.command())];
    build.step("/graphs", why, Action::Run { mounts, commands });
    if is_elsewhere {
        build.step("/graphs", why, Action::Workdir { path: input.layout.project.clone() });
    }
}

fn shell(command: &str) -> Action {
    Action::Run { mounts: Vec::new(), commands: vec![Command::Shell(command.to_owned())] }
}
