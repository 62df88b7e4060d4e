//! `checkpointer`: its backend and its factory belong together.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&MISSING_CHECKPOINTER_PATH, &UNUSED_CHECKPOINTER_PATH];

pub(super) fn check(context: &mut Context<'_>) {
    let at = Pointer::parse("/checkpointer");
    let backend = context.config.str_at("/checkpointer/backend");
    let has_path = context.config.str_at("/checkpointer/path").is_some();
    if backend == Some("custom") && !has_path && !context.is_removed("/checkpointer/path") {
        let place = Place::Value(at.join("backend"));
        context.report(
            Diagnostic::new(&MISSING_CHECKPOINTER_PATH, place, "the `custom` backend has no factory")
                .help(r#"add `"path": "./checkpointer.py:make_checkpointer"` beside it"#),
        );
    }
    let unused = has_path && backend != Some("custom");
    if unused && !context.is_removed("/checkpointer/backend") {
        let (message, help) = match backend {
            None => (
                "`checkpointer.path` is set without the backend `custom`".to_owned(),
                r#"add `"backend": "custom"` beside it, so that every server calls the factory"#,
            ),
            Some(name) => (
                format!("`checkpointer.path` has no effect with the `{name}` backend"),
                r#"write `"backend": "custom"`, or remove the path"#,
            ),
        };
        context.report(
            Diagnostic::new(&UNUSED_CHECKPOINTER_PATH, Place::Key(at.join("path")), message).help(help),
        );
    }
}

static MISSING_CHECKPOINTER_PATH: Rule = Rule {
    code: "missing-checkpointer-path",
    severity: Severity::Error,
    summary: "a custom checkpointer without its factory",
    why: "`custom` means that a factory of your own makes the checkpointer, and `path` says where it is. The server \
          would not start without it.",
    wrong: r#"{ "checkpointer": { "backend": "custom" } }"#,
    right: r#"{ "checkpointer": { "backend": "custom", "path": "./checkpointer.py:make_checkpointer" } }"#,
};

static UNUSED_CHECKPOINTER_PATH: Rule = Rule {
    code: "unused-checkpointer-path",
    severity: Severity::Warning,
    summary: "a checkpointer factory without the backend that uses it",
    why: "`path` is for the `custom` backend only. With another one the server keeps its state in its own database \
          and never calls the factory. The same holds by default where `backend` is left out; newer servers take the \
          path as a wish for `custom` then, so it is safer to say it.",
    wrong: r#"{ "checkpointer": { "path": "./checkpointer.py:make_checkpointer" } }"#,
    right: r#"{ "checkpointer": { "backend": "custom", "path": "./checkpointer.py:make_checkpointer" } }"#,
};
