//! `package.json`: can a package manager read it?

use super::{Context, entry};
use crate::compiler::manifests::package_json::PackageJson;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&INVALID_PACKAGE_JSON];

pub(super) fn check(context: &mut Context<'_>) {
    if !context.config.has_javascript() {
        return;
    }
    let PackageJson::Invalid(why) = PackageJson::read(context.files) else { return };
    let message = format!("`./package.json` cannot be read: {why}");
    let diagnostic = Diagnostic::new(&INVALID_PACKAGE_JSON, place(context), message);
    context.report(diagnostic.help("mend it; package managers read strict JSON, without comments"));
}

/// What stands for the project's own directory: it may be left out of `dependencies` where there is no Python.
pub(super) fn place(context: &Context<'_>) -> Place {
    match context.locals.iter().find(|local| local.path == ".") {
        Some(local) => Place::Value(entry(local.index)),
        None => Place::Key(Pointer::parse("/graphs")),
    }
}

static INVALID_PACKAGE_JSON: Rule = Rule {
    code: "invalid-package-json",
    severity: Severity::Error,
    summary: "a package.json that no package manager can read",
    why: "The packages of JavaScript graphs and UI components are installed from the package.json beside the \
          configuration. It is strict JSON: with a comment or a comma too many nothing would be installed.",
    wrong: r#"{ "dependencies": { "zod": "^3" }, }"#,
    right: r#"{ "dependencies": { "zod": "^3" } }"#,
};
