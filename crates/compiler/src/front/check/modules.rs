//! The files of dotted Python modules, as far as they can be found without an interpreter.

use std::collections::BTreeSet;

use super::Context;
use crate::files::Files;
use crate::manifests::dependency::{Local, LocalKind};
use crate::manifests::source_tree::has_python;
use crate::paths;

/// Directories of a project that may contain its packages.
const ROOTS: &[&str] = &[".", "src", "lib", "python"];

/// Parts of a text that change what a package has while the code runs.
const DYNAMIC: &[&str] = &["__path__", "sys.modules", "import_hook", "meta_path"];

/// A module that a local package certainly lacks.
pub(super) struct Missing {
    /// The directory of the package, or the file of the module that is no package.
    pub(super) parent: String,
    /// The dotted name of the parent.
    pub(super) package: String,
    /// The part that is not there.
    pub(super) part: String,
}

/// The part of `module` that is missing in the local package with its first parts. Nothing is certain about a package of
/// which another part may be installed, or that extends its own path.
pub(super) fn missing(context: &Context<'_>, module: &str) -> Option<Missing> {
    let dots: Vec<usize> = module.match_indices('.').map(|(at, _)| at).collect();
    let (at, file) = dots.iter().rev().find_map(|&at| Some((at, resolve(context, &module[..at])?)))?;
    let package = module[..at].to_owned();
    let part = module[at + 1..].split('.').next().unwrap_or_default().to_owned();
    let Some(directory) = file.strip_suffix("/__init__.py") else {
        return Some(Missing { parent: file, package, part });
    };
    let is_certain = !has_entry(context, directory, &part) && !is_dynamic(&context.files.text(&file)?);
    is_certain.then(|| Missing { parent: directory.to_owned(), package, part })
}

/// Whether the code of a package may change what it has.
pub(super) fn is_dynamic(text: &str) -> bool {
    DYNAMIC.iter().any(|it| text.contains(it))
}

/// Whether a file or directory in `directory` may be the module.
pub(super) fn has_entry(context: &Context<'_>, directory: &str, module: &str) -> bool {
    let entries = context.files.list(directory);
    entries.iter().any(|(name, _)| name.split('.').next() == Some(module))
        || context.files.linked_directories(directory).iter().any(|name| name == module)
}

/// Whether a local dependency may have a module or package `first`, which has no dot.
pub(super) fn may_have(context: &Context<'_>, first: &str) -> bool {
    let SearchPath { roots, own } = context.search_path.get_or_init(|| search_path(context));
    let has = |root: &String| {
        context.files.is_directory(&paths::join(root, first))
            || context.files.is_file(&paths::join(root, &format!("{first}.py")))
    };
    own.as_deref() == Some(first) || roots.iter().any(has)
}

/// The file of `module` in the first local dependency that has it.
pub(super) fn resolve(context: &Context<'_>, module: &str) -> Option<String> {
    found(context, module).next()
}

/// The same, if no other one has it.
pub(super) fn resolve_only(context: &Context<'_>, module: &str) -> Option<String> {
    let mut found = found(context, module);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The files that `module` may have in the directory `root`.
pub(super) fn files_of(root: &str, module: &str) -> [String; 2] {
    let path = module.replace('.', "/");
    // A module without a name is the package of the directory itself.
    let files = [format!("{path}.py"), format!("{path}/__init__.py")];
    files.map(|file| paths::join(root, file.trim_start_matches('/')))
}

/// The files of `module` in all local dependencies.
fn found<'a>(context: &'a Context<'_>, module: &'a str) -> impl Iterator<Item = String> + 'a {
    let SearchPath { roots, own } = context.search_path.get_or_init(|| search_path(context));
    let package = module.split_once('.').map(|(package, _)| package);
    let has_package =
        move |root: &str| package.is_none_or(|name| context.files.is_directory(&paths::join(root, name)));
    let roots = roots.iter().filter(move |root| has_package(root));
    let inner = own.as_ref().and_then(|own| module.strip_prefix(own)?.strip_prefix('.'));
    let inner = inner.into_iter().flat_map(|inner| files_of(".", inner));
    let files = roots.flat_map(move |root| files_of(root, module)).chain(inner);
    let files = files.filter(|file| context.files.is_file(file));
    // A dependency around the configuration leads back to files below it.
    files.map(|file| paths::shortened(&file, &context.files.directory()))
}

/// The directories that modules may be imported from.
pub(super) struct SearchPath {
    roots: Vec<String>,
    /// The name of the configuration's directory, if that is a package itself.
    own: Option<String>,
}

fn search_path(context: &Context<'_>) -> SearchPath {
    let (directories, files) = (context.directories(), context.files);
    let is_package = directories.iter().any(|local| local.kind == LocalKind::Flat && local.path == ".");
    let own = if is_package { files.directory().pop() } else { None };
    let roots = directories.into_iter().flat_map(|local| {
        let flat = local.kind == LocalKind::Flat && local.path != ".";
        let parent = flat.then(|| paths::parent(&local.path).to_owned());
        ROOTS.iter().map(move |root| paths::join(&local.path, root)).chain(parent)
    });
    // The working directory of the server is on the path, too.
    let roots = roots.chain([".".to_owned()]).filter(|root| files.is_directory(root));
    let mut seen = BTreeSet::new();
    let roots = roots.filter(|root| seen.insert(root.clone())).collect();
    SearchPath { roots, own }
}

/// The directories that modules are certainly imported from, but for those that a build backend selects: `src` of a
/// package that has one.
pub(super) fn roots(context: &Context<'_>) -> Vec<String> {
    let files = context.files;
    let of = |local: &Local| {
        let source = paths::join(&local.path, "src");
        match local.kind {
            LocalKind::Package if has_python(&source, files) => vec![source, local.path.clone()],
            LocalKind::Package => vec![local.path.clone()],
            _ => local.import_roots(files),
        }
    };
    let mut roots: Vec<String> = context.directories().iter().flat_map(|local| of(local)).collect();
    // The working directory of the server.
    roots.push(".".to_owned());
    roots
}
