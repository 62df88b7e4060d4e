//! The files of dotted Python modules, as far as they can be found without an interpreter.

use super::Context;
use crate::compiler::manifests::dependency::LocalKind;
use crate::compiler::paths;

/// Directories of a project that may contain its packages.
const ROOTS: &[&str] = &[".", "src", "lib", "python"];

/// The file of `module` in the first local dependency that has it.
pub(super) fn resolve(context: &Context<'_>, module: &str) -> Option<String> {
    let path = module.replace('.', "/");
    let candidates = |root: &str| {
        [format!("{root}/{path}.py"), format!("{root}/{path}/__init__.py")].map(|it| paths::normalize(&it))
    };
    let roots = context.directories().into_iter().flat_map(|local| {
        let flat = local.kind == LocalKind::Flat && local.path != ".";
        let parent = flat.then(|| paths::parent(&local.path));
        ROOTS.iter().map(move |root| paths::join(&local.path, root)).chain(parent)
    });
    roots.flat_map(|root| candidates(&root)).find(|file| context.files.is_file(file))
}
