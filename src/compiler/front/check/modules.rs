//! Where a dotted Python module lies, as far as that can be told without an interpreter.

use super::Context;
use crate::compiler::manifests::dependency::LocalKind;
use crate::compiler::paths;

/// Directories below a project in which its packages may stand.
const ROOTS: &[&str] = &[".", "src", "lib", "python"];

/// The file of `module`, where one of the local dependencies has it.
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
