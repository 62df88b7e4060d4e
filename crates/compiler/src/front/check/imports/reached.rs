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
    follow(context, |language| language == Language::Python, &loaded)
}

/// The same of one runtime's languages, of which `loaded` are the files of the project that an import in a file loads.
pub(super) fn follow(
    context: &mut Context<'_>,
    is_meant: fn(Language) -> bool,
    loaded: &dyn Fn(&Context<'_>, &str, &Import) -> Vec<String>,
) -> Vec<Reached> {
    let mut walk = Walk { is_meant, seen: BTreeSet::new(), found: Vec::new() };
    for located in context.references.clone().iter() {
        let path = match located.parse() {
            Ok(Reference::File { path, .. }) => Some(path),
            Ok(Reference::Module { module, .. }) => modules::resolve_only(context, &module),
            Err(_) => None,
        };
        path.into_iter().for_each(|path| walk.add(context, located, path, false));
    }
    let mut next = 0;
    while next < walk.found.len() && walk.found.len() < MAX_FILES {
        let Reached { located, path, module, .. } = &walk.found[next];
        let located = located.clone();
        let path = path.clone();
        let module = module.clone();
        for import in module.imports() {
            for file in loaded(context, &path, import) {
                walk.add(context, &located, file, true);
            }
        }
        next += 1;
    }
    walk.found
}

/// The files that were reached so far.
struct Walk {
    is_meant: fn(Language) -> bool,
    seen: BTreeSet<String>,
    found: Vec<Reached>,
}

impl Walk {
    fn add(&mut self, context: &mut Context<'_>, located: &Located, path: String, is_imported: bool) {
        if Language::of(&path).is_some_and(self.is_meant)
            && self.seen.insert(path.clone())
            && let Some(module) = context.module(&path)
        {
            self.found.push(Reached { located: located.clone(), path, module, is_imported });
        }
    }
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
