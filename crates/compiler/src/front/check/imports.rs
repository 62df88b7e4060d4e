//! Imports in the files that the server loads: does the image have the packages?
//!
//! Only a certain answer is reported: that of a lock file about well-known packages, that of a virtual environment of the
//! project that has all of its requirements, or that of requirements which are known to bring no others.

mod above;
mod javascript;
mod own;
pub(super) mod reached;
mod search_path;
mod unavailable;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Context, modules, packages, written};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, rule};
use crate::files::{FileKind, Files};
use crate::front::config::Variant;
use crate::front::reference::Located;
use crate::front::workspace;
use crate::manifests::dependency::{Dependency, Local, classify};
use crate::manifests::requirement::{self, normalized_name};
use crate::manifests::requirements_txt::{self, Entry, Kind};
use crate::manifests::symbols::{Import, Module};
use crate::manifests::{import_names, package};
use crate::{paths, server};
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

/// Virtual environments, the last of which is that of `dev`.
const ENVIRONMENTS: &[&str] = &[".venv", "venv", ".agentcli/python"];

/// Path files of virtual environments that lead to no modules.
const PATH_FILES: &[&str] = &["_virtualenv.pth", "distutils-precedence.pth"];

/// The installed packages, as far as they are known.
enum Installed {
    /// The names of all distributions, by lock files, and of those that the lock files have for extras and groups.
    Locked(BTreeSet<String>, BTreeSet<String>),
    /// The modules of a virtual environment that has all requirements.
    Environment(BTreeSet<String>),
    /// The names of the requirements, which bring no integration of the library that is not listed itself, and whether all of
    /// them are known.
    Listed(BTreeSet<String>, bool),
    /// Too little.
    Unknown,
}

impl Installed {
    /// Whether `module` certainly is not installed.
    fn lacks(&self, module: &str) -> bool {
        match self {
            Self::Locked(names, others) => match import_names::distributions(module) {
                Some(all) => is_absent(&all, names),
                None => {
                    brings(others, module)
                        && !names.iter().any(|name| name.contains(&*normalized_name(module)))
                }
            },
            Self::Listed(names, all_known) => {
                import_names::integration(module, *all_known).is_some_and(|all| is_absent(&all, names))
            }
            Self::Environment(modules) => !modules.contains(module),
            Self::Unknown => false,
        }
    }

    /// Whether no package brings `module`, which Python had itself, by the names that such packages have.
    fn has_no(&self, module: &str) -> bool {
        match self {
            Self::Locked(names, _) | Self::Listed(names, true) => {
                !names.iter().any(|name| name.contains(module))
            }
            Self::Environment(modules) => !modules.contains(module),
            Self::Listed(..) | Self::Unknown => false,
        }
    }
}

/// Whether one of these distributions brings `module`, by its name: `python-slugify` and the like bring `slugify`.
fn brings(distributions: &BTreeSet<String>, module: &str) -> bool {
    let name = normalized_name(module);
    [format!("python-{name}"), format!("{name}-python"), format!("py{name}"), name]
        .iter()
        .any(|name| distributions.contains(name))
}

fn is_absent(distributions: &[String], names: &BTreeSet<String>) -> bool {
    !distributions.iter().any(|name| names.contains(name))
}

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
    let names = if search_path::is_changed(&reached) { None } else { required_names(context) };
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
                |module: &str| installed.get_or_insert_with(|| find_installed(context)).has_no(module);
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
                || !is_bare && installed.get_or_insert_with(|| find_installed(context)).lacks(name);
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

fn find_installed(context: &Context<'_>) -> Installed {
    let environment = || Some(Installed::Environment(environment(context)?));
    let listed = || listed(context).map(|(names, all_known)| Installed::Listed(names, all_known));
    let locked = locked(context).map(|all| {
        let names: BTreeSet<String> = all.into_keys().collect();
        let others = in_lock_files(context).filter(|name| !names.contains(name)).collect();
        Installed::Locked(names, others)
    });
    locked.or_else(environment).or_else(listed).unwrap_or(Installed::Unknown)
}

/// The names of the requirements, if none of them brings integrations of the library with it, and what they bring beside; and
/// whether all of them are known.
fn listed(context: &Context<'_>) -> Option<(BTreeSet<String>, bool)> {
    let mut names = BTreeSet::new();
    let mut all_known = true;
    for text in required_texts(context)? {
        let name = requirement::name(&text)?;
        let has_extras = !requirement::extras(&text).is_empty();
        if !is_alone(&name, has_extras) {
            all_known = false;
            if !import_names::is_unrelated(&name) {
                return None;
            }
        }
        names.extend(import_names::brought_dotenv(&name, has_extras).map(str::to_owned));
        names.insert(name);
    }
    Some((names, all_known))
}

/// Whether a distribution, with extras or without, is known to bring nothing of the library but its core.
fn is_alone(distribution: &str, has_extras: bool) -> bool {
    server::DISTRIBUTIONS.contains(&distribution)
        || import_names::brings_no_integration(distribution, has_extras)
}

/// All distributions with their versions, if everything that is required is in a lock file.
fn locked(context: &Context<'_>) -> Option<BTreeMap<String, Option<String>>> {
    let Context { config, files, .. } = *context;
    if config.source.is_some() {
        return workspace::locked(config, files).map(|locked| locked.versions().collect());
    }
    if config.entries().any(|(_, text)| matches!(classify(text, files), Dependency::Package(_))) {
        return None;
    }
    let mut versions = BTreeMap::new();
    for local in context.directories() {
        if local.is_project() {
            versions.extend(workspace::beside(&local, config, files)?.ok()?.versions());
        } else if requirements_txt::find(&local.path, files).is_some() {
            return None;
        }
    }
    Some(versions)
}

/// The names of all packages in the lock files beside the dependencies.
fn in_lock_files(context: &Context<'_>) -> impl Iterator<Item = String> {
    let locked = context
        .directories()
        .into_iter()
        .filter_map(|local| workspace::beside(&local, context.config, context.files)?.ok());
    let texts: Vec<String> = locked.filter_map(|locked| context.files.text(&locked.file)).collect();
    let name = |line: &str| Some(normalized_name(line.strip_prefix("name = \"")?.strip_suffix('"')?));
    texts.into_iter().flat_map(move |text| text.lines().filter_map(name).collect::<Vec<_>>())
}

/// The modules of the first virtual environment of the project, if all requirements are installed there.
fn environment(context: &Context<'_>) -> Option<BTreeSet<String>> {
    let locals = context.directories();
    let roots = [".".to_owned()].into_iter().chain(locals.iter().map(|local| local.path.clone()));
    let mut environments = roots
        .flat_map(|root| ENVIRONMENTS.iter().map(move |name| paths::join(&root, &format!("{name}/lib"))));
    let packages = environments.find_map(|lib| {
        let (python, _) =
            context.files.list(&lib).into_iter().find(|(name, _)| name.starts_with("python"))?;
        Some(context.files.list(&format!("{lib}/{python}/site-packages"))).filter(|it| !it.is_empty())
    })?;
    let names = || packages.iter().map(|(name, _)| name.as_str());
    let distribution =
        |name: &str| Some(normalized_name(name.strip_suffix(".dist-info")?.split('-').next()?));
    let distributions: BTreeSet<String> = names().filter_map(distribution).collect();
    let is_installed = |text: &String| required_name(text).is_some_and(|name| distributions.contains(&name));
    let is_complete = required_texts(context)?.iter().all(is_installed);
    // The modules of other editable packages are elsewhere.
    let own: Vec<String> = locals
        .iter()
        .filter_map(|it| it.distribution_name(context.files))
        .map(|it| normalized_name(&it))
        .collect();
    let is_own =
        |path_file: &str| PATH_FILES.contains(&path_file) || own.contains(&editable_package(path_file));
    let is_closed = names().filter(|name| name.ends_with(".pth")).all(is_own);
    let module = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    (is_complete && is_closed).then(|| names().map(module).collect())
}

/// The normalised name of the package that build backends name the path file of an editable installation after.
fn editable_package(path_file: &str) -> String {
    let name = path_file.trim_end_matches(".pth").trim_start_matches("__editable__.").trim_start_matches('_');
    normalized_name(name.split('-').next().unwrap_or_default())
}

/// The names of the requirements, if all are known.
fn required_names(context: &Context<'_>) -> Option<BTreeSet<String>> {
    required_texts(context)?.iter().map(|text| requirement::name(text)).collect()
}

/// The requirements, if all are known.
fn required_texts(context: &Context<'_>) -> Option<Vec<String>> {
    let files = context.files;
    let mut texts = Vec::new();
    for (_, text) in context.config.entries() {
        if let Dependency::Package(text) = classify(text, files) {
            texts.push(text);
        }
    }
    for local in context.directories() {
        if local.is_project() {
            texts.extend(package::metadata(&local, files).requirements?);
            continue;
        }
        for part in requirements_txt::parts(&local.path, files) {
            for entry in part.entries.as_ref().ok()? {
                match &entry.kind {
                    Kind::Requirement(text) => texts.push(text.clone()),
                    Kind::Known => {}
                    Kind::Include(file) | Kind::Constraint(file) if !file.contains("://") => {}
                    _ => return None,
                }
            }
        }
    }
    Some(texts)
}

/// The name of a requirement; `None` if it may require more or less than the package of that name.
fn required_name(text: &str) -> Option<String> {
    let requirement = requirement::read(text).ok()?;
    let is_plain = !requirement.is_conditional && requirement::extras(text).is_empty();
    requirement.name.filter(|_| is_plain)
}

static UNDECLARED_IMPORT: Rule = rule!("undeclared-import");
