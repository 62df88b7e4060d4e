//! The source files that the server loads: those that the configuration names, and those of the project that they import.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::files::Files;
use crate::front::check::{Context, modules};
use crate::front::reference::{Located, Reference};
use crate::manifests::symbols::{Import, Language, Module};
use crate::paths;

/// The most files that are followed. A larger project says nothing about the rest.
pub(super) const MAX_FILES: usize = 300;

/// A file, and the reference that leads to it.
pub(in crate::front::check) struct Reached {
    pub(in crate::front::check) located: Located,
    pub(in crate::front::check) path: String,
    pub(in crate::front::check) module: Rc<Module>,
    /// Whether another file imports it, and the configuration does not name it.
    pub(in crate::front::check) is_imported: bool,
}

/// All such files of Python, the named ones first. An import is followed only if one file can be meant.
pub(in crate::front::check) fn find(context: &mut Context<'_>) -> Vec<Reached> {
    follow(context, |language| language == Language::Python, loaded)
}

/// The same of one runtime's languages, of which `loaded` are the files of the project that an import in a file loads.
pub(super) fn follow(
    context: &mut Context<'_>,
    is_meant: fn(Language) -> bool,
    loaded: fn(&Context<'_>, &str, &Import) -> Vec<String>,
) -> Vec<Reached> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |context: &mut Context<'_>,
                   located: &Located,
                   path: Option<String>,
                   found: &mut Vec<Reached>,
                   is_imported| {
        let Some(path) = path.filter(|path| Language::of(path).is_some_and(is_meant)) else { return };
        if seen.insert(path.clone())
            && let Some(module) = context.module(&path)
        {
            found.push(Reached { located: located.clone(), path, module, is_imported });
        }
    };
    for located in context.references.clone().iter() {
        let path = match located.parse() {
            Ok(Reference::File { path, .. }) => Some(path),
            Ok(Reference::Module { module, .. }) => modules::resolve_only(context, &module),
            Err(_) => None,
        };
        add(context, located, path, &mut found, false);
    }
    let mut next = 0;
    while next < found.len() && found.len() < MAX_FILES {
        let Reached { located, path, module, .. } = &found[next];
        let located = located.clone();
        let path = path.clone();
        let module = module.clone();
        for import in module.imports() {
            for file in loaded(context, &path, import) {
                add(context, &located, Some(file), &mut found, true);
            }
        }
        next += 1;
    }
    found
}

/// The files of the project that an import in the file at `path` loads.
pub(super) fn loaded(context: &Context<'_>, path: &str, import: &Import) -> Vec<String> {
    if import.level == 0 {
        let modules = if modules::may_have(context, import.first()) { import.loaded() } else { Vec::new() };
        return modules.iter().filter_map(|module| modules::resolve_only(context, module)).collect();
    }
    let modules = import.loaded().into_iter();
    let package = paths::join(paths::parent(path), &"../".repeat(import.level - 1));
    let files = modules.flat_map(|module| modules::files_of(&package, &module));
    files.filter(|file| context.files.is_file(file)).collect()
}
