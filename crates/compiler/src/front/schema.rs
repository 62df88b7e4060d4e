//! Checks a document against the published JSON Schema.

mod describe;
mod explain;
mod rules;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Place, Pointer};
use crate::front::dialect::Dialect;
use crate::front::document::Document;
use crate::secrecy::{is_secret, is_secret_place};
pub use describe::describing;
use describe::{keys_at, name_of};
use explain::{explain, misspelling};
use rules::{EMPTY_VALUE, MISSING_KEY, MISSPELT_KEY, OUT_OF_RANGE, UNKNOWN_KEY};

pub use rules::{RULES, UNKNOWN_VALUE};

/// The published schema; `agentcli schema` prints this text.
pub const TEXT: &str = include_str!("../../../../schemas/agent.schema.json");

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(TEXT).unwrap_or_default());

/// The schema compiled into code: building a validator at run time takes longer than everything else together.
#[jsonschema::validator(
    path = "../../schemas/agent.schema.json",
    draft = Draft202012,
    methods = { is_valid = false, validate = false, iter_errors = true }
)]
struct Shape;

/// The first float at which whole numbers are not exact.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The schema as JSON.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// A document after the check.
pub struct Checked {
    /// The findings, in no particular order.
    pub diagnostics: Vec<Diagnostic>,
    /// The document without the parts that are wrong.
    pub value: Value,
    /// The places of the wrong parts: checks ignore them and values that depend on them.
    pub removed: BTreeSet<Pointer>,
}

/// Whether `at` is an `env` with a list of names, which the server's own tool ignores. Another check warns about it.
fn is_list_of_names(at: &Pointer, root: &Value) -> bool {
    let items = root.get("env").filter(|_| at.as_str() == "/env").and_then(Value::as_array);
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

/// Checks the shape of `document`.
pub fn check(document: &Document, dialect: Dialect) -> Checked {
    let mut value = document.to_value();
    let holes: HashSet<Pointer> = document.holes().into_iter().collect();
    if let Value::Object(members) = &mut value
        && dialect == Dialect::Public
    {
        // The server's own tool takes null for an absent key.
        members.retain(|key, value| !value.is_null() || holes.contains(&Pointer::root().join(key)));
    }
    let mut diagnostics = Vec::new();
    // Values with a finding already.
    let mut said = HashSet::new();
    let mut removed: BTreeSet<Pointer> = holes.iter().cloned().collect();
    // The known key that each unknown one is a misspelling of.
    let mut meant: HashMap<Pointer, Pointer> = HashMap::new();
    for pointer in whole_numbers(&mut value) {
        let name = name_of(&pointer);
        let diagnostic =
            Diagnostic::new(&OUT_OF_RANGE, Place::Value(pointer.clone()), format!("{name} is too large"));
        diagnostics.push(diagnostic.help("write a smaller number"));
        said.insert(pointer.clone());
        removed.insert(pointer);
    }
    for error in Shape::iter_errors(&value) {
        let at = Pointer::parse(error.instance_path().as_str());
        let is_unread = !holes.is_empty() && at.ancestors().any(|it| holes.contains(&it));
        if is_unread || said.contains(&at) || dialect == Dialect::Public && is_list_of_names(&at, &value) {
            continue;
        }
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            let known = keys_at(&at);
            let meaning = |key: &String| Some((at.join(key), at.join(misspelling(key, &known)?)));
            meant.extend(unexpected.iter().filter_map(meaning));
        }
        let found = explain(&error, &at, &value);
        for diagnostic in found {
            // The server may know keys that the schema lacks, but secrets must not become part of an image.
            let pointer = diagnostic.place.pointer();
            if diagnostic.rule.code != UNKNOWN_KEY.code || has_secrets(&value, &pointer) {
                removed.insert(pointer);
            }
            let absent = diagnostic.rule.code == MISSING_KEY.code;
            let silent = absent && (document.broken || is_optional_dependencies(&value, &diagnostic))
                || (absent || diagnostic.rule.code == EMPTY_VALUE.code) && document.is_partial(&at);
            if !silent {
                said.extend(diagnostic.place.value().cloned());
                diagnostics.push(diagnostic);
            }
        }
    }
    // A misspelt key is not reported as missing too, and without it nothing can be compiled.
    let known: HashSet<&Pointer> = meant.values().collect();
    let is_missing =
        |it: &Diagnostic| it.rule.code == MISSING_KEY.code && known.contains(&it.place.pointer());
    let needed: HashSet<Pointer> =
        diagnostics.extract_if(.., |it| is_missing(it)).map(|it| it.place.pointer()).collect();
    for diagnostic in diagnostics.iter_mut().filter(|it| it.rule.code == MISSPELT_KEY.code) {
        let meant = meant.get(&diagnostic.place.pointer());
        diagnostic.is_dispensable = meant.is_none_or(|it| !needed.contains(it));
    }
    removed.extend(meant.into_values().filter(|pointer| value.pointer(pointer.as_str()).is_none()));
    Checked { diagnostics, value: without(value, &removed), removed }
}

/// Replaces whole numbers written with a fraction (`5.0`) by integers where the schema wants one, and returns the
/// places of those that are too large.
fn whole_numbers(root: &mut Value) -> Vec<Pointer> {
    fn look(at: &Pointer, value: &mut Value, found: &mut Vec<Pointer>) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(key, it)| look(&at.join(key), it, found)),
            Value::Array(items) => {
                items.iter_mut().enumerate().for_each(|(index, it)| look(&at.join(index), it, found))
            }
            Value::Number(number) if number.is_f64() => {
                let number = number.as_f64().unwrap_or_default();
                if number.fract() != 0.0 || !describing(at).is_some_and(takes_whole_numbers) {
                } else if number.abs() < MAX_WHOLE {
                    *value = Value::from(number as i64);
                } else if number > 0.0 {
                    found.push(at.clone());
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    look(&Pointer::root(), root, &mut found);
    found
}

/// Whether the member at `pointer` of `root` may hold environment variables, at any depth.
fn has_secrets(root: &Value, pointer: &Pointer) -> bool {
    fn is_below(value: &Value) -> bool {
        match value {
            Value::Object(members) => members.iter().any(|(key, value)| is_secret(key) || is_below(value)),
            Value::Array(items) => items.iter().any(is_below),
            _ => false,
        }
    }
    let value = root.pointer(pointer.as_str());
    let has_members = value.is_some_and(|value| value.is_object() || value.is_array());
    let is_env = has_members && pointer.keys().last().is_some_and(|key| is_secret(&key));
    is_env || is_secret_place(pointer) || value.is_some_and(is_below)
}

fn takes_whole_numbers(schema: &Value) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "integer"),
        kind => kind == "integer",
    }
}

/// Whether this is about missing `dependencies`, which `source` may replace.
fn is_optional_dependencies(value: &Value, diagnostic: &Diagnostic) -> bool {
    let Place::Key(pointer) = &diagnostic.place else { return false };
    value.get("source").is_some() && pointer.as_str() == "/dependencies"
}

/// Removes the values at `removed`. Items of a list become null, so that the others keep their indices.
fn without(mut value: Value, removed: &BTreeSet<Pointer>) -> Value {
    for pointer in removed {
        let Some(parent) = pointer.parent() else { return Value::Object(serde_json::Map::new()) };
        let key = pointer.keys().last().unwrap_or_default();
        match value.pointer_mut(parent.as_str()) {
            Some(Value::Object(members)) => drop(members.shift_remove(&key)),
            Some(Value::Array(_)) => {
                if let Some(item) = value.pointer_mut(pointer.as_str()) {
                    *item = Value::Null;
                }
            }
            _ => {}
        }
    }
    value
}
