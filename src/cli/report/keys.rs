//! The documentation of the keys of the configuration, from the schema and the table of keys.

use serde_json::Value;

use crate::cli::console::wrap;
use crate::compiler::front::keys::{Form, Holds, KEYS, row};
use crate::compiler::front::schema::{describing, schema};
use crate::compiler::words::either;
use crate::diagnostic::Pointer;

/// The top-level keys as a Markdown table.
pub fn table() -> String {
    let rows = KEYS.iter().filter(|row| row.parts().count() == 1).map(|row| {
        let part = describing(&Pointer::parse(row.pointer)).unwrap_or(&Value::Null);
        let variable = row.variable.map(|name| format!("`{name}`")).unwrap_or_default();
        let facts: String = facts(part).into_iter().map(|(name, fact)| format!(" {name}: {fact}.")).collect();
        format!("| `{}` | {}{facts} | {variable} |\n", &row.pointer[1..], description(part))
    });
    let rows: String = rows.collect();
    format!("| key | value | server variable |\n|---|---|---|\n{rows}")
}

/// The names of all keys, dotted; `*` stands for any name.
pub fn names() -> Vec<String> {
    fn collect(prefix: &str, at: &Pointer, found: &mut Vec<String>) {
        let Some(part) = describing(at) else { return };
        for key in part["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
            found.push(format!("{prefix}{key}"));
            collect(&format!("{prefix}{key}."), &at.join(key), found);
        }
        if part["additionalProperties"].is_object() {
            collect(&format!("{prefix}*."), &at.join("*"), found);
        }
    }
    let mut found = Vec::new();
    collect("", &Pointer::root(), &mut found);
    found
}

/// The documentation of the key with this dotted name.
pub fn explained(name: &str, width: usize) -> Option<String> {
    let pointer = name.split('.').fold(Pointer::root(), |at, key| at.join(key));
    let part = describing(&pointer)?;
    // A definition that several keys share has no description of its own.
    let own = pointer.parent().and_then(|parent| describing(&parent));
    let own = own.map_or(&Value::Null, |own| &own["properties"][pointer.keys().last().unwrap_or_default()]);
    let described = if part["description"].is_string() { part } else { own };
    let mut text = format!("{name}\n\n{}\n\n", wrap(description(described), width));
    let row = row(&pointer);
    let form = row.and_then(|row| match row.holds {
        Holds::Reference(Form::Name, ..) => Some("`<file>:<name>` or `<module>:<name>`"),
        Holds::Reference(Form::Dotted, ..) => Some("`<file>:<name>` or `<module>.<name>`"),
        Holds::Reference(Form::Model, ..) => Some("`<file>:<name>` or `<provider>:<model>`"),
        Holds::Reference(Form::File, ..) => Some("a file"),
        Holds::Environment => Some("a file, or secret values by name"),
        Holds::File => Some("a file"),
        Holds::Plain | Holds::Dependencies => None,
    });
    let types = form.map_or_else(|| types(part), str::to_owned);
    let variable = row.and_then(|row| row.variable).map(|name| ("Variable", format!("`{name}`")));
    let facts = [("Value", types)].into_iter().chain(facts(part)).chain(variable);
    facts.for_each(|(name, fact)| text.push_str(&wrap(&format!("{name}: {fact}\n"), width)));
    if let Some(row) = row.filter(|_| !name.contains('*')) {
        let key = pointer.keys().last().unwrap_or_default();
        text.push_str(&format!("\nExample:\n\n    \"{key}\": {}\n", row.example));
    }
    Some(text)
}

fn description(part: &Value) -> &str {
    part["description"].as_str().unwrap_or_default()
}

fn types(part: &Value) -> String {
    match &part["type"] {
        Value::Array(kinds) => either(kinds.iter().filter_map(Value::as_str)),
        kind => format!("`{}`", kind.as_str().unwrap_or_default()),
    }
}

/// The options, the default and the members of a value.
fn facts(part: &Value) -> Vec<(&'static str, String)> {
    let quoted = |value: &Value| match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    let listed = |values: Vec<String>| Some(values.join(", ")).filter(|list| !list.is_empty());
    let options = [&part["enum"], &part["items"]["enum"], &part["examples"]];
    let options = options
        .into_iter()
        .find_map(Value::as_array)
        .map(|options| options.iter().filter(|option| !option.is_null()).map(quoted).collect::<Vec<_>>());
    let keys = part["properties"].as_object().into_iter().flatten().map(|(key, _)| format!("`{key}`"));
    let required = schema()["required"].as_array().into_iter().flatten();
    let is_required = required.filter_map(Value::as_str).any(|key| schema()["properties"][key] == *part);
    [
        ("Required", is_required.then(|| "always".to_owned())),
        ("Options", options.and_then(listed)),
        ("Default", part.get("default").map(quoted)),
        ("Keys", listed(keys.collect())),
    ]
    .into_iter()
    .filter_map(|(name, fact)| Some((name, fact?)))
    .collect()
}
