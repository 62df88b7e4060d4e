//! Local packages that would take the place of the server's own.

use super::{Context, entry, written};
use crate::compiler::files::FileKind;
use crate::compiler::manifests::dependency::{self, Local, LocalKind};
use crate::compiler::manifests::requirement;
use crate::compiler::{paths, server};
use crate::diagnostic::{Diagnostic, Place, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&INVALID_PACKAGE_DIRECTORY, &RESERVED_PACKAGE_NAME, &SHADOWED_MODULE];

pub(super) fn check(context: &mut Context<'_>) {
    for local in context.directories() {
        let found = match local.kind {
            LocalKind::Package => check_distribution(context, &local).into_iter().collect(),
            LocalKind::Flat => check_flat(context, local.index, &local.path).into_iter().collect(),
            LocalKind::Plain => check_modules(context, local.index, &local.path),
        };
        found.into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
}

fn is_reserved(name: &str) -> bool {
    server::RESERVED_PACKAGES.contains(&requirement::normalized_name(name).as_str())
}

fn check_distribution(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let name = local.distribution_name(context.files).filter(|name| is_reserved(name))?;
    let message =
        format!("`{}` is named `{name}`, like a package of the server itself", written(&local.path));
    Some(
        Diagnostic::new(&RESERVED_PACKAGE_NAME, Place::Value(entry(local.index)), message)
            .help("give the project another name in its manifest"),
    )
}

fn check_flat(context: &Context<'_>, index: usize, path: &str) -> Option<Diagnostic> {
    let name = dependency::directory_name(path, context.files)?;
    let place = Place::Value(entry(index));
    if is_reserved(&name) || name == "src" {
        let message =
            format!("the directory `{name}` would be imported in place of the server's own `{name}`");
        let diagnostic = Diagnostic::new(&RESERVED_PACKAGE_NAME, place, message);
        return Some(diagnostic.help("rename the directory, or describe the project in a pyproject.toml"));
    }
    let importable =
        name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_numeric());
    // What the project's own directory is called is up to each checkout.
    if importable || path == "." {
        return None;
    }
    let message = format!("`{name}` has an `__init__.py`, but cannot be the name of an import package");
    Some(Diagnostic::new(&INVALID_PACKAGE_DIRECTORY, place, message).help(format!(
        "rename it to `{}`, remove its `__init__.py`, or describe the project in a pyproject.toml",
        name.replace(|c: char| !c.is_alphanumeric(), "_"),
    )))
}

fn check_modules(context: &Context<'_>, index: usize, path: &str) -> Vec<Diagnostic> {
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
        // A dependency of its own is looked at as such.
        if context.locals.iter().any(|local| local.path == paths::join(path, &name)) {
            continue;
        }
        let shown = written(&paths::join(path, &name));
        let message = format!("`{shown}` may be imported in place of the server's own `{module}`");
        found.push(
            Diagnostic::new(&SHADOWED_MODULE, Place::Value(entry(index)), message)
                .help("rename it, or move it into a package of your own"),
        );
    }
    found
}

static INVALID_PACKAGE_DIRECTORY: Rule = Rule {
    code: "invalid-package-directory",
    severity: Severity::Error,
    summary: "a package directory whose name cannot be imported",
    why: "A directory with an `__init__.py` and without a manifest is an import package itself, under its own name. A \
          name with a `-` or a blank cannot stand in an import statement.",
    wrong: r#"{ "dependencies": ["./my-agent"] }"#,
    right: r#"{ "dependencies": ["./my_agent"] }"#,
};

static RESERVED_PACKAGE_NAME: Rule = Rule {
    code: "reserved-package-name",
    severity: Severity::Error,
    summary: "a local package named like one of the server's own",
    why: "Installing it would replace the package of the same name that the server needs, and the server would not \
          start, or fail later in ways that are hard to trace.",
    wrong: r#"{ "dependencies": ["./langgraph"] }"#,
    right: r#"{ "dependencies": ["./my_graphs"] }"#,
};

static SHADOWED_MODULE: Rule = Rule {
    code: "shadowed-module",
    severity: Severity::Warning,
    summary: "a local module named like one of the server's own",
    why: "The directory goes on Python's import path, so that the server and its libraries may find this module where \
          they mean their own.",
    wrong: r#"{ "dependencies": ["./graphs_with_httpx_py"] }"#,
    right: r#"{ "dependencies": ["./graphs"] }"#,
};
