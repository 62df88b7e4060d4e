//! Imports in the files that the server loads: does the image have the packages? Only a certain answer is reported.

mod above;
mod installed;
mod javascript;
mod own;
pub(super) mod reached;
mod search_path;
mod unavailable;

use std::collections::HashSet;

use super::{Context, modules, packages, written};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, rule};
use crate::files::{FileKind, Files};
use crate::front::config::Variant;
use crate::front::reference::Located;
use crate::manifests::dependency::Local;
use crate::manifests::import_names;
use crate::manifests::requirement::{self, normalized_name};
use crate::manifests::requirements_txt::{self, Entry, Kind};
use crate::manifests::symbols::{Import, Module};
use crate::paths;
use above::Unlisted;
use own::OwnModules;
use reached::Reached;
use search_path::SearchPath;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &own::IMPORT_NOT_FOUND,
    &search_path::MODULE_NOT_ON_PATH,
    &unavailable::UNAVAILABLE_IMPORT,
    &UNDECLARED_IMPORT,
];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    // Lines of the user, and images of others, may bring anything.
    let is_own =
        config.base_image.is_some() || config.dockerfile_lines.as_ref().is_some_and(|it| !it.is_empty());
    if is_own {
        return;
    }
    javascript::check(context);
    if context.variant != Variant::Javascript && has_usable_dependencies(context) {
        check_python(context);
    }
}

fn check_python(context: &mut Context<'_>) {
    let reached = context.reached();
    // Without all requirements, what a name means is not certain.
    let names = if search_path::is_changed(&reached) { None } else { installed::required_names(context) };
    let search_path = names.as_ref().and_then(|names| SearchPath::read(context, names));
    let own = names.as_ref().map(|names| OwnModules::read(context, &reached, names));
    // Another check reports once that none of the requirements is installed.
    let is_bare = context.directories().iter().any(|local| packages::check_parent(context, local).is_some());
    let mut is_above_reported = false;
    let mut above = None;
    let mut installed = None;
    let mut reported = HashSet::new();
    for file @ Reached { located, path, module, .. } in &*reached {
        for import in module.imports() {
            let is_alone =
                |module: &str| installed.get_or_insert_with(|| installed::find(context)).has_no(module);
            let unavailable = unavailable::check(context, file, import, is_alone);
            unavailable.into_iter().for_each(|diagnostic| context.report(diagnostic));
            let absent = own.as_ref().and_then(|own| own.check(context, located, path, module, import));
            absent.into_iter().for_each(|diagnostic| context.report(diagnostic));
        }
        let mut imported = HashSet::new();
        for import in module.imports().iter().filter(|import| import.level == 0) {
            let part = import_names::part(import);
            let name = part.as_deref().unwrap_or(import.first());
            if part.is_none() && import_names::is_provided(name) || !imported.insert(name.to_owned()) {
                continue;
            }
            let search_path = search_path.as_ref();
            if is_local(context, path, name) {
                let found = search_path.and_then(|it| it.check(context, located, path, module, import));
                found.into_iter().for_each(|diagnostic| context.report(diagnostic));
                continue;
            }
            let above = above.get_or_insert_with(|| Unlisted::find(context)).as_ref();
            if let Some(project) = above.filter(|project| project.provides(context, name)) {
                // One import is enough: the help is the same for all.
                if !std::mem::replace(&mut is_above_reported, true) {
                    context.report(project.report(path, module, import));
                }
                continue;
            }
            let mut is_absent =
                || !is_bare && installed.get_or_insert_with(|| installed::find(context)).lacks(name);
            let found =
                match search_path.and_then(|it| it.check_above(context, located, path, module, import)) {
                    Some(diagnostic) => Some(diagnostic),
                    None => is_absent().then(|| undeclared(context, located, path, module, import, name)),
                };
            let found = found.filter(|_| reported.insert(name.to_owned()));
            found.into_iter().for_each(|diagnostic| context.report(diagnostic));
        }
    }
}

fn undeclared(
    context: &Context<'_>,
    located: &Located,
    path: &str,
    module: &Module,
    import: &Import,
    name: &str,
) -> Diagnostic {
    let message = format!("`{}` imports `{name}`, which no requirement provides", written(path));
    let place = within(located);
    let distributions = import_names::distributions(name).unwrap_or_default();
    let unread = distributions.iter().find_map(|it| Some((it, unread_requirements(context, it)?)));
    let help = match (unread, distributions.first()) {
        (Some((distribution, file)), _) => {
            format!(
                "move `{distribution}` from `{file}`, which is not read beside a manifest, to the manifest"
            )
        }
        (None, Some(distribution)) => format!("add `{distribution}` to the requirements of the project"),
        (None, None) => "add its package to the requirements of the project".to_owned(),
    };
    Diagnostic::new(&UNDECLARED_IMPORT, place, message)
        .help(help)
        .mistake(imported_here(path, module, import))
}

/// The place of an import in the file at `path`.
fn imported_here(path: &str, module: &Module, import: &Import) -> Related {
    Related::new(path, module.text(), import.span.clone(), "imported here")
}

/// The requirements file beside the manifest of a project, which has the distribution and is not read.
fn unread_requirements(context: &Context<'_>, distribution: &str) -> Option<String> {
    let has_it = |entry: &Entry| match &entry.kind {
        Kind::Requirement(text) => requirement::name(text).as_deref() == Some(distribution),
        _ => false,
    };
    let projects = context.directories().into_iter().filter(|local| local.is_project());
    let mut parts = projects.flat_map(|local| requirements_txt::parts(&local.path, context.files));
    parts.find(|part| part.entries.iter().flatten().any(has_it)).map(|part| written(&part.path))
}

/// The file or module of a reference.
fn within(located: &Located) -> Place {
    Place::Within(located.pointer.clone(), located.path_part())
}

/// Whether the entries of `dependencies` are read, and the local ones are directories. Other checks report those that are not.
fn has_usable_dependencies(context: &Context<'_>) -> bool {
    let Context { config, .. } = *context;
    config.source.is_some()
        || config.dependencies.is_some()
            && !context.is_removed("/dependencies")
            && context.locals.iter().all(|local| local.is_directory())
}

/// The directory of `file` and those above it, as far as that of the configuration.
fn ancestors(file: &str) -> Vec<&str> {
    let mut around = paths::parent(file);
    let mut ancestors = vec![around];
    while around != "." && !around.ends_with("..") {
        around = paths::parent(around);
        ancestors.push(around);
    }
    ancestors
}

/// Whether a file or directory of the project may be the module.
fn is_local(context: &Context<'_>, file: &str, module: &str) -> bool {
    let has = |directory: &str| {
        let path = paths::normalize(&paths::join(directory, module));
        context.files.is_directory(&path) || context.files.is_file(&format!("{path}.py"))
    };
    let below = |local: &Local| {
        let directories = context.files.list(&local.path).into_iter();
        let directories = directories.filter(|(_, kind)| *kind == FileKind::Directory);
        directories.map(|(name, _)| paths::join(&local.path, &name)).collect::<Vec<_>>()
    };
    let name = normalized_name(module);
    let is_named = |local: &Local| {
        local.distribution_name(context.files).is_some_and(|own| normalized_name(&own) == name)
    };
    modules::resolve(context, module).is_some()
        || ancestors(file).iter().any(|directory| has(directory))
        || context.directories().iter().any(|local| {
            is_named(local) || has(&local.path) || below(local).iter().any(|directory| has(directory))
        })
}

static UNDECLARED_IMPORT: Rule = rule!("undeclared-import");
