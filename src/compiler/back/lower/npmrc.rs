//! The credentials of `.npmrc`: mounted while packages are installed, and in no layer.

use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Mount, Variant};
use crate::compiler::manifests::installation::Installation;
use crate::compiler::paths;

/// The stage that holds the root's `.npmrc` if it has credentials, and its path there.
const NPM_STAGE: (&str, &str) = ("npm", "/.npmrc");

/// Its mount point during installation, which all package managers read.
const NPMRC: &str = "/root/.npmrc";

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

/// The mount of that file.
pub(super) fn mount(input: &Input<'_>) -> Option<Mount> {
    let (stage, source) = NPM_STAGE;
    secret(input)?;
    Some(Mount::Bind { from: stage.to_owned(), source: source.to_owned(), target: NPMRC.to_owned() })
}

/// The installation of the packages in the image; none with a custom command or without a package.json.
pub(super) fn installation<'a>(input: &Input<'a>) -> Option<&'a Installation> {
    let is_custom = input.resolved.variant == Variant::Javascript && input.options.install_command.is_some();
    input.resolved.installation.as_ref().filter(|_| !is_custom)
}
