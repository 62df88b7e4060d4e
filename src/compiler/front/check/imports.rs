//! Imports in the referenced Python files: does the image have the packages?
//!
//! Only a certain answer is reported: that of a lock file about well-known packages, or that of a virtual environment of
//! the project that has all of its requirements.

mod above;
mod search_path;

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::{Context, modules, written};
use crate::compiler::files::{FileKind, Files};
use crate::compiler::front::config::Variant;
use crate::compiler::front::reference::{self, Located, Reference};
use crate::compiler::front::workspace;
use crate::compiler::manifests::dependency::{Dependency, Local, classify};
use crate::compiler::manifests::requirement::{self, normalized_name};
use crate::compiler::manifests::requirements_txt::{self, Kind};
use crate::compiler::manifests::symbols::{Language, Module};
use crate::compiler::manifests::{import_names, package};
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Place, Related, Rule, Severity};
use above::Unlisted;
use search_path::SearchPath;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&search_path::MODULE_NOT_ON_PATH, &UNDECLARED_IMPORT];

/// Names of virtual environments.
const ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// Path files of virtual environments that lead to no modules.
const PATH_FILES: &[&str] = &["_virtualenv.pth", "distutils-precedence.pth"];

/// The installed packages, as far as they are known.
enum Installed {
    /// The names of all distributions, by lock files.
    Locked(BTreeSet<String>),
    /// The modules of a virtual environment that has all requirements.
    Environment(BTreeSet<String>),
    /// Too little.
    Unknown,
}

impl Installed {
    /// Whether `module` certainly is not installed.
    fn lacks(&self, module: &str) -> bool {
        match self {
            Self::Locked(names) => import_names::distributions(module)
                .is_some_and(|distributions| !distributions.iter().any(|name| names.contains(name))),
            Self::Environment(modules) => !modules.contains(module),
            Self::Unknown => false,
        }
    }
}

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    // Lines of the user, and images of others, may bring anything.
    let is_own =
        config.base_image.is_some() || config.dockerfile_lines.as_ref().is_some_and(|it| !it.is_empty());
    if is_own || context.variant == Variant::Javascript || !has_usable_dependencies(context) {
        return;
    }
    let search_path = SearchPath::read(context);
    let above = Unlisted::find(context);
    let mut is_above_reported = false;
    let mut installed = None;
    let mut seen = HashSet::new();
    for located in reference::all(&config.value) {
        let Ok(Reference::File { path, .. }) = located.parse() else { continue };
        if Language::of(&path) != Some(Language::Python) || !seen.insert(path.clone()) {
            continue;
        }
        let Some(module) = context.module(&path) else { continue };
        let mut names = HashSet::new();
        for (name, span) in module.imports() {
            if !names.insert(name) || import_names::is_provided(name) {
                continue;
            }
            let import = (name.as_str(), span.clone());
            if is_local(context, &path, name) {
                let found =
                    search_path.as_ref().and_then(|it| it.check(context, &located, &path, &module, import));
                found.into_iter().for_each(|diagnostic| context.report(diagnostic));
                continue;
            }
            if let Some(project) = above.as_ref().filter(|project| project.provides(context, name)) {
                // One import is enough: the help is the same for all.
                if !std::mem::replace(&mut is_above_reported, true) {
                    context.report(project.report(&path, &module, import));
                }
                continue;
            }
            if installed.get_or_insert_with(|| find_installed(context)).lacks(name) {
                context.report(undeclared(&located, &path, &module, import));
            }
        }
    }
}

fn undeclared(
    located: &Located,
    path: &str,
    module: &Module,
    (name, span): (&str, Range<usize>),
) -> Diagnostic {
    let message = format!("`{}` imports `{name}`, which no requirement provides", written(path));
    let place = within(located);
    let help = match import_names::distributions(name).and_then(|names| names.into_iter().next()) {
        Some(distribution) => format!("add `{distribution}` to the requirements of the project"),
        None => "add its package to the requirements of the project".to_owned(),
    };
    let related = Related::new(path, module.text(), span, "imported here".to_owned());
    Diagnostic::new(&UNDECLARED_IMPORT, place, message).help(help).related(related)
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
fn ancestors(file: &str) -> Vec<String> {
    let mut around = paths::parent(file);
    let mut ancestors = vec![around.clone()];
    while around != "." && !around.ends_with("..") {
        around = paths::parent(&around);
        ancestors.push(around.clone());
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
    locked(context).map(Installed::Locked).or_else(environment).unwrap_or(Installed::Unknown)
}

/// The names of all distributions, if everything that is required is in a lock file.
fn locked(context: &Context<'_>) -> Option<BTreeSet<String>> {
    let Context { config, files, .. } = *context;
    if config.source.is_some() {
        return workspace::locked(config, files).map(|locked| locked.names().collect());
    }
    if config.entries().any(|(_, text)| matches!(classify(text, files), Dependency::Package(_))) {
        return None;
    }
    let mut names = BTreeSet::new();
    for local in context.directories() {
        if local.is_project() {
            names.extend(workspace::beside(&local, config, files)?.ok()?.names());
        } else if requirements_txt::find(&local.path, files).is_some() {
            return None;
        }
    }
    Some(names)
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
    let is_complete = required(context)?.iter().all(|name| distributions.contains(name));
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

/// The names of the requirements, if all are known and unconditional.
fn required(context: &Context<'_>) -> Option<BTreeSet<String>> {
    required_texts(context)?.iter().map(|text| required_name(text)).collect()
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
                    Kind::Constraint(_) | Kind::Known => {}
                    Kind::Include(file) if !file.contains("://") => {}
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

static UNDECLARED_IMPORT: Rule = Rule {
    code: "undeclared-import",
    severity: Severity::Warning,
    summary: "an import of a package that no requirement provides",
    why: "A file that the configuration names imports a package at its top level. The package is not in the image: it is \
          not in the project, the standard library or the server, and not in the lock file, or not in the virtual \
          environment of the project, which has all its requirements. The server fails when it loads the file.",
    wrong: r#"{ "graphs": { "agent": "./imports_bs4.py:graph" }, "dependencies": ["./project-without-beautifulsoup4"] }"#,
    right: r#"{ "graphs": { "agent": "./imports_bs4.py:graph" }, "dependencies": ["./project"] }"#,
};
