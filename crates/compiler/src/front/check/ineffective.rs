//! Keys that the server ignores in this configuration.

use serde_json::Value;

use super::Context;
use crate::diagnostic::{Diagnostic, Edit, Place, Pointer, Rule, rule};
use crate::front::config::{Config, Variant};
use crate::paths;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&INEFFECTIVE_KEY];

/// A key, when the server ignores it, and why.
type Row = (&'static str, fn(&Config) -> bool, &'static str);

const ROWS: &[Row] = &[
    ("/env", has_list_of_names, "a list of names in `env` sets no variables"),
    ("/priority", |_| true, "the server does not read `priority`"),
    ("/auth/cache", has_python_auth, "the server caches the answers of JavaScript handlers only"),
    ("/checkpointer/serde", has_document_database, "the document database ignores `checkpointer.serde`"),
];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    for (pointer, is_ignored, message) in ROWS {
        if config.at(pointer).is_some() && is_ignored(config) {
            let place = Place::Key(Pointer::parse(pointer));
            context.report(
                Diagnostic::new(&INEFFECTIVE_KEY, place, *message).help("remove it").safe_fix(Edit::Remove),
            );
        }
    }
}

fn has_list_of_names(config: &Config) -> bool {
    config.at("/env").is_some_and(Value::is_array)
}

fn has_python_auth(config: &Config) -> bool {
    config.variant() != Variant::Javascript
        && config.str_at("/auth/path").is_some_and(|path| !paths::is_javascript(path))
}

fn has_document_database(config: &Config) -> bool {
    config.str_at("/checkpointer/backend").is_some_and(|backend| matches!(backend, "docdb" | "mongo"))
}

static INEFFECTIVE_KEY: Rule = rule!("ineffective-key");
