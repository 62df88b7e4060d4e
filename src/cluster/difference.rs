//! The fields that applying objects would change, as the server computes them.

use serde_json::{Map, Value};

use super::{Cluster, DIGEST, Error, REVISION, list, text, title};
use crate::live::FieldChange;

/// Fields that only the server sets, and the label and annotation that every revision changes.
const IGNORED: &[&str] = &[
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "status",
    "uid",
    DIGEST,
    REVISION,
];

/// The longest value that is shown, in characters.
const LONGEST: usize = 60;

impl Cluster {
    /// The objects with the names of these that exist.
    pub(super) async fn live(&self, objects: &[Value]) -> Result<Vec<Value>, Error> {
        self.kubectl.objects(&["get", "--ignore-not-found", "-f", "-"], &list(objects)).await
    }

    /// What applying the objects would change, in the order of the objects. The server refuses what it would refuse then.
    pub(super) async fn differences(
        &self,
        live: &[Value],
        objects: &[Value],
    ) -> Result<Vec<FieldChange>, Error> {
        let mut changes = Vec::new();
        for after in self.kubectl.apply_without_effect(&list(objects)).await? {
            let name = title(&after);
            match live.iter().find(|before| title(before) == name) {
                Some(before) => compare(&name, "", before, &after, &mut changes),
                None => changes.push(FieldChange::whole("create", name)),
            }
        }
        Ok(changes)
    }
}

/// Adds each field that differs.
fn compare(object: &str, path: &str, before: &Value, after: &Value, changes: &mut Vec<FieldChange>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            for name in old.keys().chain(added).filter(|name| !IGNORED.contains(&name.as_str())) {
                let value = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                compare(object, &inner(name), &value(old), &value(new), changes);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                let name = text(new, "/name");
                let name = if name.is_empty() { index.to_string() } else { name.to_owned() };
                compare(object, &inner(&name), old, new, changes);
            }
        }
        _ if is_same(before, after) => {}
        _ => changes.push(FieldChange {
            action: "update",
            object: object.to_owned(),
            field: path.to_owned(),
            before: short(before),
            after: short(after),
        }),
    }
}

/// An absent object is as good as an empty one.
fn is_same(before: &Value, after: &Value) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    before == after || is_empty(before) && is_empty(after)
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).collect::<String>() + "…"
}
