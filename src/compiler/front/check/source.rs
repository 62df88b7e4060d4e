//! `source`: known from other tools, not supported here.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&SOURCE_NOT_SUPPORTED];

pub(super) fn check(context: &mut Context<'_>) {
    if context.config.at("/source").is_some() {
        let place = Place::Key(Pointer::root().join("source"));
        context
            .report(Diagnostic::new(&SOURCE_NOT_SUPPORTED, place, "`source` is not supported yet").help(
                "list the directories of the workspace that the agent needs in `dependencies` instead",
            ));
    }
}

static SOURCE_NOT_SUPPORTED: Rule = Rule {
    code: "source-not-supported",
    severity: Severity::Error,
    summary: "`source` is not supported yet",
    why: "`source` names a uv workspace to build from. Ignoring it would build something else than what was asked for.",
    wrong: r#"{ "source": { "kind": "uv", "root": "../.." } }"#,
    right: r#"{ "dependencies": [".", "../../libs/shared"] }"#,
};
