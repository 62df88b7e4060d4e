//! The keys of the configuration, for `explain` and the README.

use serde_json::Value;

use crate::cli::console::wrap;
use crate::compiler::front::documentation::{Documentation, description, facts};
use crate::compiler::front::keys::KEYS;
use crate::compiler::front::schema::describing;
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
    let Documentation { description, facts, example } = Documentation::new(&pointer)?;
    let mut text = format!("{name}\n\n{}\n\n", wrap(description, width));
    facts.iter().for_each(|(name, fact)| text.push_str(&wrap(&format!("{name}: {fact}\n"), width)));
    if let Some(example) = example.filter(|_| !name.contains('*')) {
        text.push_str(&format!("\nExample:\n\n    {example}\n"));
    }
    Some(text)
}
