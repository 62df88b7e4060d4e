//! The documentation of a key of the configuration, from the schema and the table of keys.

use serde_json::Value;

use crate::diagnostic::Pointer;
use crate::front::keys::{Form, Holds, row};
use crate::front::schema::{describing, schema};
use crate::words::either;

/// The documentation of a key.
#[derive(Debug)]
pub struct Documentation {
    /// A few sentences.
    pub description: &'static str,
    /// Name and value of each fact: types, options, default, members, server variable.
    pub facts: Vec<(&'static str, String)>,
    /// The member with a valid value, as JSON.
    pub example: Option<String>,
}

impl Documentation {
    /// The documentation of the key at `pointer`, if it is in the schema.
    pub fn new(pointer: &Pointer) -> Option<Self> {
        let part = describing(pointer)?;
        let key = pointer.keys().last()?;
        // A definition that several keys share has no description of its own.
        let own = pointer.parent().and_then(|parent| describing(&parent));
        let own = own.map_or(&Value::Null, |own| &own["properties"][&key]);
        let described = if part["description"].is_string() { part } else { own };
        let row = row(pointer);
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
        Some(Self {
            description: description(described),
            facts: [("Value", types)].into_iter().chain(facts(part)).chain(variable).collect(),
            example: row.map(|row| format!("\"{key}\": {}", row.example)),
        })
    }
}

/// The description of a part of the schema.
pub fn description(part: &'static Value) -> &'static str {
    part["description"].as_str().unwrap_or_default()
}

fn types(part: &Value) -> String {
    match &part["type"] {
        Value::Array(kinds) => either(kinds.iter().filter_map(Value::as_str)),
        kind => format!("`{}`", kind.as_str().unwrap_or_default()),
    }
}

/// The options, the default and the members of a value.
pub fn facts(part: &Value) -> Vec<(&'static str, String)> {
    let quoted = |value: &Value| match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    let listed = |values: Vec<String>| Some(values.join(", ")).filter(|list| !list.is_empty());
    let options = options(part).map(quoted).collect();
    let keys = part["properties"].as_object().into_iter().flatten().map(|(key, _)| format!("`{key}`"));
    let required = schema()["required"].as_array().into_iter().flatten();
    let is_required = required.filter_map(Value::as_str).any(|key| schema()["properties"][key] == *part);
    [
        ("Required", is_required.then(|| "always".to_owned())),
        ("Options", listed(options)),
        ("Default", part.get("default").map(quoted)),
        ("Keys", listed(keys.collect())),
    ]
    .into_iter()
    .filter_map(|(name, fact)| Some((name, fact?)))
    .collect()
}

/// The values that the schema lists for a value, or for the items of a list.
pub fn options(part: &Value) -> impl Iterator<Item = &Value> {
    let listed = [&part["enum"], &part["items"]["enum"], &part["examples"]];
    let options = listed.into_iter().find_map(Value::as_array);
    options.into_iter().flatten().filter(|option| !option.is_null())
}
