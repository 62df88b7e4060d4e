//! npm's lock file: does it fit the package.json?

use super::manifests::{project, quoted};
use super::{Context, written};
use crate::compiler::manifests::npm_lock;
use crate::diagnostic::{Diagnostic, Rule, Severity};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&OUTDATED_PACKAGE_LOCK];

pub(super) fn check(context: &mut Context<'_>) {
    if !context.config.has_javascript() {
        return;
    }
    let Some(Ok(installation)) = context.installation() else { return };
    let Some(found) = npm_lock::outdated(&installation, context.files) else { return };
    let (lock, manifest) = (written(&found.lock), written(&found.manifest));
    let message = format!("`{lock}` is older than `{manifest}`, and `npm ci` refuses it");
    let label = match found.locked {
        Some(version) => format!("the lock file has {version}"),
        None => "the lock file does not have it".to_owned(),
    };
    let related = quoted(context, &found.manifest, &found.name, label);
    let diagnostic = Diagnostic::new(&OUTDATED_PACKAGE_LOCK, project(context), message);
    context.report(
        diagnostic.related(related).help(format!("run `npm install` in `{}`", written(&installation.root))),
    );
}

static OUTDATED_PACKAGE_LOCK: Rule = Rule {
    code: "outdated-package-lock",
    severity: Severity::Warning,
    summary: "a package-lock.json that is older than package.json",
    why: "The lock file of npm lacks a package that package.json requires, or has a version that it does not allow. The image \
          is built with `npm ci`, which refuses a lock file that does not fit.",
    wrong: r#"{ "graphs": { "agent": "./agent-with-an-outdated-lock.ts:graph" } }"#,
    right: r#"{ "graphs": { "agent": "./agent.ts:graph" } }"#,
};
