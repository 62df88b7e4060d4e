//! Local packages that would replace those of the server.

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Rule, rule};
use crate::files::{FileKind, Files};
use crate::manifests::dependency::{self, Local, LocalKind};
use crate::manifests::requirement;
use crate::{paths, server};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&INVALID_PACKAGE_DIRECTORY, &RESERVED_PACKAGE_NAME, &SHADOWED_MODULE];

pub(super) fn check(context: &mut Context<'_>) {
    for local in context.installed_directories() {
        let found: Vec<Diagnostic> = match local.kind {
            LocalKind::Package => check_distribution(context, &local).into_iter().collect(),
            LocalKind::Flat => check_flat(context, local.index, &local.path).into_iter().collect(),
            LocalKind::Plain | LocalKind::Virtual => {
                let roots = local.import_roots(context.files).into_iter();
                roots.flat_map(|root| check_modules(context, local.index, &root)).collect()
            }
        };
        found.into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
}

fn is_reserved(name: &str) -> bool {
    server::RESERVED_PACKAGES.contains(&requirement::normalized_name(name).as_str())
}

fn check_distribution(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let name = local.distribution_name(context.files).filter(|name| is_reserved(name))?;
    let message = format!("`{}` is named `{name}`, like a package of the server", written(&local.path));
    Some(
        Diagnostic::new(&RESERVED_PACKAGE_NAME, Place::Value(entry(local.index)), message)
            .help("give the project another name in its manifest"),
    )
}

fn check_flat(context: &Context<'_>, index: Option<usize>, path: &str) -> Option<Diagnostic> {
    let name = dependency::directory_name(path, context.files)?;
    let place = Place::Value(entry(index));
    if is_reserved(&name) {
        let message = format!("the directory `{name}` would be imported instead of the server's `{name}`");
        let diagnostic = Diagnostic::new(&RESERVED_PACKAGE_NAME, place, message);
        return Some(diagnostic.help("rename the directory, or describe the project in a pyproject.toml"));
    }
    let importable =
        name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_numeric());
    // Each checkout may name the project's own directory differently.
    if importable || path == "." {
        return None;
    }
    let message = format!("`{name}` has an `__init__.py`, but its name cannot be imported");
    Some(Diagnostic::new(&INVALID_PACKAGE_DIRECTORY, place, message).help(format!(
        "rename it to `{}`, remove its `__init__.py`, or describe the project in a pyproject.toml",
        name.replace(|c: char| !c.is_alphanumeric(), "_"),
    )))
}

fn check_modules(context: &Context<'_>, index: Option<usize>, path: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, kind) in context.files.list(path) {
        let is_package = || context.files.is_file(&paths::join(path, &format!("{name}/__init__.py")));
        let module = match kind {
            FileKind::File => name.strip_suffix(".py"),
            FileKind::Directory => Some(name.as_str()).filter(|_| is_package()),
        };
        let Some(module) = module.filter(|module| is_reserved(module) && !module.contains(['-', '.'])) else {
            continue;
        };
        // Other dependencies are checked as such.
        if context.locals.iter().any(|local| local.path == paths::join(path, &name)) {
            continue;
        }
        let shown = written(&paths::join(path, &name));
        let message = format!("`{shown}` may be imported instead of the server's `{module}`");
        found.push(
            Diagnostic::new(&SHADOWED_MODULE, Place::Value(entry(index)), message)
                .help("rename it, or move it into a package of your own"),
        );
    }
    found
}

static INVALID_PACKAGE_DIRECTORY: Rule = rule!("invalid-package-directory");

static RESERVED_PACKAGE_NAME: Rule = rule!("reserved-package-name");

static SHADOWED_MODULE: Rule = rule!("shadowed-module");
