//! The lock file of the package manager: does it fit the package.json?

use super::manifests::{project, quoted};
use super::{Context, written};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::manifests::npm_lock;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&OUTDATED_PACKAGE_LOCK];

pub(super) fn check(context: &mut Context<'_>) {
    if !context.config.has_javascript() {
        return;
    }
    let Some(Ok(installation)) = context.installation() else { return };
    let Some(found) = npm_lock::outdated(&installation, context.files) else { return };
    let (lock, manifest) = (written(&found.lock), written(&found.manifest));
    let manager = installation.manager;
    let help = format!("run `{} install` in `{}`", manager.name, written(&installation.root));
    let report =
        |message: String| Diagnostic::new(&OUTDATED_PACKAGE_LOCK, project(context), message).help(help);
    let diagnostic = if found.is_required {
        let label = match found.locked {
            Some(version) => format!("the lock file has {version}"),
            None => "the lock file does not have it".to_owned(),
        };
        let related = quoted(context, &found.manifest, &found.name, label);
        report(format!("`{lock}` is older than `{manifest}`, and `{}` refuses it", manager.with_lock))
            .related(related)
    } else {
        report(format!(
            "`{lock}` has `{}`, which `{manifest}` does not require, and `{}` refuses it",
            found.name, manager.with_lock
        ))
    };
    context.report(diagnostic);
}

static OUTDATED_PACKAGE_LOCK: Rule = rule!("outdated-package-lock");
