//! `source`: not supported yet.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&SOURCE_NOT_SUPPORTED];

pub(super) fn check(context: &mut Context<'_>) {
    if context.config.at("/source").is_some() {
        let place = Place::Key(Pointer::root().join("source"));
        context.report(
            Diagnostic::new(&SOURCE_NOT_SUPPORTED, place, "`source` is not supported yet")
                .help("list the workspace directories that the agent needs in `dependencies`"),
        );
    }
}

static SOURCE_NOT_SUPPORTED: Rule = Rule {
    code: "source-not-supported",
    severity: Severity::Error,
    summary: "`source` is not supported yet",
    why: "`source` builds from a uv workspace. Ignoring it would build something else.",
    wrong: r#"{ "source": { "kind": "uv", "root": "../.." } }"#,
    right: r#"{ "dependencies": [".", "../../libs/shared"] }"#,
};
