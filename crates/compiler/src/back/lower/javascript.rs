//! Node.js and the JavaScript packages of an image, and of `dev`.

use crate::back::lower::{Build, Input, image_server, variables};
use crate::back::plan::{Node, NodeInstall, NodeProject, SecretFile, UserCommand, Variant};
use crate::manifests::installation::Installation;
use crate::manifests::package_manager::{BUNFIG, NPMRC, YARNRC};
use crate::paths;

/// The place of `.npmrc` in an image, where all package managers read it. Other settings are read at the root.
const HOME_NPMRC: &str = "/root/.npmrc";

/// Node.js and the JavaScript packages of an image.
pub(super) fn node(input: &Input<'_>, build: &mut Build) -> Node {
    let options = input.options;
    let own = options.install_command.as_ref();
    let installation = input.resolved.installation.as_ref().filter(|_| own.is_none());
    let settings = installation.map(|installation| {
        let is_at_root = |file: &&String| paths::parent(file) == installation.root;
        let is_settings = |file: &&String| [NPMRC, YARNRC, BUNFIG].contains(&paths::file_name(file));
        installation.files.iter().filter(is_at_root).filter(is_settings)
    });
    let settings = settings.into_iter();
    Node {
        version: input.resolved.node.clone().filter(|_| input.resolved.variant == Variant::Mixed),
        install: installation.map(|installation| install(input, installation, build)),
        install_command: own.map(|command| UserCommand {
            directory: input.layout.in_image(&paths::normalize(&options.called_from)),
            command: command.clone(),
        }),
        build_command: options.build_command.clone(),
        variables: variables(input, settings.flatten()),
        secrets: secrets(input),
    }
}

fn install(input: &Input<'_>, installation: &Installation, build: &mut Build) -> NodeInstall {
    if let Some(why) = &installation.needs_source {
        let note = format!("each edit of the source installs the JavaScript packages again: {why}");
        build.note("/graphs", note);
    }
    let is_plain = image_server::installs_javascript(input);
    let late = installation.needs_source.is_some();
    // A member that is not part of the context has no manifest to copy.
    let is_sent = |file: &String| !input.ignore.excludes(file);
    let files = installation.files.iter().filter(|file| !late && !installation.secret.contains(file));
    NodeInstall {
        directory: input.layout.in_image(&installation.root),
        manager: installation.manager.name.to_owned(),
        package: installation.manager.is_bootstrapped(is_plain).then(|| installation.package.clone()),
        command: installation.command(),
        cache: installation.manager.cache.to_owned(),
        manifests: files.map(|file| input.layout.in_context(file)).filter(is_sent).collect(),
        late,
    }
}

/// The settings of package managers that hold credentials and are part of the context, also those of members.
pub(super) fn secret_files<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a String> {
    let all = input.resolved.installation.iter().flat_map(|installation| &installation.secret);
    all.filter(|file| !input.ignore.excludes(&input.layout.in_context(file)))
}

/// Those of the root, with the places where the package manager reads them.
fn secrets(input: &Input<'_>) -> Vec<SecretFile> {
    let root = input.resolved.installation.as_ref().map(|installation| installation.root.as_str());
    let at_root = secret_files(input).filter(|file| Some(paths::parent(file)) == root);
    let secret = |file: &String| SecretFile {
        file: input.layout.in_context(file),
        name: paths::file_name(file).to_owned(),
        place: match paths::file_name(file) {
            NPMRC => HOME_NPMRC.to_owned(),
            _ => input.layout.in_image(file),
        },
    };
    at_root.map(secret).collect()
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
