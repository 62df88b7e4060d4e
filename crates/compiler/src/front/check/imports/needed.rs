//! The packages of others that the project imports, for the bytecode in the image.

use std::collections::{BTreeSet, HashSet};

use super::is_local;
use super::reached::{MAX_FILES, Reached, loaded};
use crate::front::check::{Context, modules};
use crate::front::config::Variant;
use crate::front::reference::{Located, Reference};
use crate::manifests::import_names;
use crate::manifests::symbols::Import;

/// The packages that the server imports with the files of the project, sooner or later; `None` if too little is known.
pub(in crate::front::check) fn packages(context: &mut Context<'_>) -> Option<BTreeSet<String>> {
    if context.variant == Variant::Javascript {
        return None;
    }
    let references = context.references.clone();
    let mut packages: BTreeSet<String> =
        references.iter().filter_map(|located| of_reference(context, located)).collect();
    let embed = context.config.str_at("/store/index/embed").map(|model| format!("'{model}'"));
    packages.extend(embed.iter().flat_map(|model| import_names::integrations_in(model)));
    let mut files: Vec<_> =
        context.reached().iter().map(|Reached { path, module, .. }| (path.clone(), module.clone())).collect();
    let mut seen: HashSet<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let mut next = 0;
    while let Some((path, module)) = files.get(next).cloned().filter(|_| files.len() < MAX_FILES) {
        packages.extend(import_names::integrations_in(module.text()));
        for import in module.all_imports() {
            let own = loaded(context, &path, import);
            if own.is_empty() && import.level == 0 {
                packages.extend(of_import(context, &path, import)?);
            }
            for file in own {
                if seen.insert(file.clone())
                    && let Some(module) = context.module(&file)
                {
                    files.push((file, module));
                }
            }
        }
        next += 1;
    }
    (1..MAX_FILES).contains(&files.len()).then_some(packages)
}

/// The package of a module that is none of the project's.
fn of_reference(context: &Context<'_>, located: &Located) -> Option<String> {
    let Ok(Reference::Module { module, .. }) = located.parse() else { return None };
    // Names in JavaScript have it, too, and shells expand it.
    let is_own = module.contains('$') || modules::resolve(context, &module).is_some();
    import_names::package(&module).filter(|_| !is_own).map(str::to_owned)
}

/// The packages of an import in the file at `path`; `None` if it may lead to files of the project that are not found.
fn of_import(context: &Context<'_>, path: &str, import: &Import) -> Option<BTreeSet<String>> {
    let names = import.loaded();
    let packages: BTreeSet<&str> = names.iter().filter_map(|name| import_names::package(name)).collect();
    if !packages.is_empty() && is_local(context, path, import.first()) {
        return None;
    }
    Some(packages.into_iter().map(str::to_owned).collect())
}
