//! `checkpointer`: the backend and what belongs to it.

use serde_json::Value;

use super::Context;
use super::credentials::CREDENTIALS_IN_URL;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::front::schema::UNKNOWN_VALUE;
use crate::secrecy::urls;
use crate::server;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&MISSING_CHECKPOINTER_PATH, &UNUSED_CHECKPOINTER_PATH];

pub(super) fn check(context: &mut Context<'_>) {
    let at = Pointer::parse("/checkpointer");
    let backend = context.config.str_at("/checkpointer/backend");
    let has_path = context.config.str_at("/checkpointer/path").is_some();
    if backend == Some("custom") && context.is_absent("/checkpointer/path") {
        let place = Place::Value(at.join("backend"));
        context.report(
            Diagnostic::new(&MISSING_CHECKPOINTER_PATH, place, "the `custom` backend has no factory")
                .help(r#"add `"path": "./checkpointer.py:make_checkpointer"` beside it"#),
        );
    }
    check_uri(context);
    check_modules(context);
    // Without a backend, the newest server uses the factory.
    let is_old = context.config.api_version.is_some();
    let unused = has_path && backend != Some("custom");
    if unused && (backend.is_some() || is_old && context.is_absent("/checkpointer/backend")) {
        let (message, help) = match backend {
            None => (
                "`checkpointer.path` is set without the backend `custom`".to_owned(),
                r#"add `"backend": "custom"` beside it, so that every server uses the factory"#,
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

/// The URI becomes part of the image, with the password in it.
fn check_uri(context: &mut Context<'_>) {
    let pointer = Pointer::parse("/checkpointer/uri");
    let uri = context.config.str_at(pointer.as_str()).unwrap_or_default();
    if !urls::userinfo(uri).is_empty() {
        let message = "`checkpointer.uri` contains a password, which would become part of the image";
        context.report(Diagnostic::new(&CREDENTIALS_IN_URL, Place::Value(pointer), message).help(format!(
            "set the variable `{}` when the server runs instead",
            server::DOCUMENT_DATABASE_URI
        )));
    }
}

fn check_modules(context: &mut Context<'_>) {
    let pointer = Pointer::parse("/checkpointer/serde/allowed_json_modules");
    if context.config.at(pointer.as_str()) == Some(&Value::Bool(false)) {
        let message = "`checkpointer.serde.allowed_json_modules` cannot be `false`";
        context.report(
            Diagnostic::new(&UNKNOWN_VALUE, Place::Value(pointer), message)
                .help("leave it out to allow the safe defaults only"),
        );
    }
}

static MISSING_CHECKPOINTER_PATH: Rule = rule!("missing-checkpointer-path");

static UNUSED_CHECKPOINTER_PATH: Rule = rule!("unused-checkpointer-path");
