//! The schema's part for a place, and words for messages.

use serde_json::Value;

use super::SCHEMA;
use crate::diagnostic::Pointer;
use crate::front::keys::row;

/// The schema of the value at `pointer`.
pub fn describing(pointer: &Pointer) -> Option<&'static Value> {
    let mut schema: &'static Value = &SCHEMA;
    for key in pointer.keys() {
        let next = schema["properties"].get(&key).or_else(|| schema.get("items"));
        schema = next.or_else(|| schema.get("additionalProperties").filter(|it| it.is_object()))?;
        if let Some(name) = schema["$ref"].as_str() {
            schema = SCHEMA.pointer(name.trim_start_matches('#'))?;
        }
    }
    Some(schema)
}

pub(super) fn keys_at(pointer: &Pointer) -> Vec<String> {
    let properties = describing(pointer).and_then(|schema| schema["properties"].as_object());
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

pub(super) fn example_at(pointer: &Pointer) -> Option<String> {
    Some(format!("write for example `{}`", row(pointer)?.example))
}

/// The name of the value at `pointer` in messages: `http.cors`, or the configuration.
pub(super) fn name_of(pointer: &Pointer) -> String {
    let mut name = String::new();
    let mut at = Pointer::root();
    for key in pointer.keys() {
        at = at.join(&key);
        match is_item(&at) {
            true => name.push_str(&format!("[{key}]")),
            false if name.is_empty() => name.push_str(&key),
            false => name.push_str(&format!(".{key}")),
        }
    }
    if name.is_empty() { "the configuration".to_owned() } else { format!("`{name}`") }
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Object(_) => "object",
        Value::String(_) => "string",
    }
}

pub(super) fn noun(kind: &str) -> String {
    match kind {
        "array" => "a list".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "a whole number".to_owned(),
        "null" => "null".to_owned(),
        "object" => "an object".to_owned(),
        other => format!("a {other}"),
    }
}

/// Whether the value is an item of a list.
pub(super) fn is_item(pointer: &Pointer) -> bool {
    pointer
        .parent()
        .and_then(|parent| describing(&parent))
        .is_some_and(|schema| schema.get("items").is_some())
}
