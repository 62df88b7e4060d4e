//! The changes of a patch.

use std::fmt;

use serde_json::{Value, json};

use crate::api::wire::{Deployment, DeploymentPatch};
use crate::cli::command::deploy::shown::hide;

/// A changed field, without values of secrets.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// Path with dots.
    field: String,
    before: Value,
    after: Value,
    /// The names of secrets that keep their values.
    kept: Vec<String>,
}

impl Change {
    /// `{"field", "before", "after"}`
    pub(super) fn json(&self) -> Value {
        json!({ "field": self.field, "before": self.before, "after": self.after })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.field.as_str(), names(&self.before), names(&self.after)) {
            ("secrets", Some(before), Some(after)) => {
                let is_kept = |name: &&str| self.kept.iter().any(|kept| kept == name);
                let (kept, set): (Vec<&str>, _) = after.iter().partition(|name| is_kept(name));
                let removed = before.into_iter().filter(|name| !after.contains(name)).collect();
                let parts = [("sets", set), ("keeps", kept), ("removes", removed)];
                let parts = parts.iter().filter(|(_, names)| !names.is_empty());
                let parts: Vec<String> =
                    parts.map(|(verb, names)| format!("{verb} {}", names.join(", "))).collect();
                write!(f, "secrets: {}", if parts.is_empty() { "none".to_owned() } else { parts.join("; ") })
            }
            _ => match &self.before {
                Value::Null => write!(f, "{}: {}", self.field, self.after),
                before if *before == self.after => write!(f, "{}: {before} again", self.field),
                before => write!(f, "{}: {before} -> {}", self.field, self.after),
            },
        }
    }
}

fn names(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(|item| item.get("name")?.as_str()).collect()
}

/// The names of secrets that are sent without a value.
fn without_value(secrets: &Value) -> Vec<String> {
    let secrets = secrets.as_array().into_iter().flatten();
    let name = |secret: &Value| Some(secret.get("name")?.as_str()?.to_owned());
    secrets.filter(|secret| secret.get("value").is_none()).filter_map(name).collect()
}

/// The changes of a patch. Secrets always count, since their values are unknown, and so does the source of a revision: its
/// tag or branch may refer to something new.
pub(super) fn difference(before: &Deployment, patch: &DeploymentPatch) -> Vec<Change> {
    let mut changes = Vec::new();
    compare("", &json!(before), &json!(patch), &mut changes);
    changes
}

fn compare(field: &str, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    match after {
        Value::Object(fields) if !is_free(field) => {
            for (name, after) in fields {
                let inner = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                compare(&inner, before.get(name).unwrap_or(&Value::Null), after, changes);
            }
        }
        after if !always_counts(field) && same(before, after) => {}
        after => {
            let kept = if field == "secrets" { without_value(after) } else { Vec::new() };
            let (mut before, mut after) = (before.clone(), after.clone());
            hide_in(field, &mut before);
            hide_in(field, &mut after);
            changes.push(Change { field: field.to_owned(), before, after, kept });
        }
    }
}

fn always_counts(field: &str) -> bool {
    field == "secrets" || field.starts_with("source_revision_config.")
}

/// Objects that are replaced as a whole.
fn is_free(field: &str) -> bool {
    field.ends_with(".labels") || field.ends_with(".annotations")
}

/// `1` and `1.0` are the same number.
fn same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| other.as_f64() == Some(number))
}

/// Removes secrets from the value of a field, which may be the list of secrets itself.
fn hide_in(field: &str, value: &mut Value) {
    let name = field.rsplit('.').next().unwrap_or_default();
    let mut within = json!({ name: value.take() });
    hide(&mut within);
    *value = within[name].take();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Deployment {
        serde_json::from_value(json!({
            "name": "a", "source": "external_container", "id": "", "tenant_id": "", "created_at": "",
            "updated_at": "", "status": "READY", "latest_revision_id": null, "active_revision_id": null,
            "source_config": {"resource_spec": {"cpu": 1, "labels": {"a": "b"}}},
            "source_revision_config": {"image_uri": "one"},
            "secrets": [{"name": "OLD", "value": "hidden"}],
        }))
        .unwrap()
    }

    fn changes(patch: Value) -> Vec<String> {
        let patch = serde_json::from_value(patch).unwrap();
        difference(&deployment(), &patch).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn changes_are_shown_without_secrets() {
        let secrets = json!({"secrets": [{"name": "NEW", "value": "hidden"}]});
        assert_eq!(changes(secrets.clone()), ["secrets: sets NEW; removes OLD"]);
        let found = difference(&deployment(), &serde_json::from_value(secrets).unwrap());
        assert!(!found[0].json().to_string().contains("hidden"));
        let kept = json!({"secrets": [{"name": "NEW", "value": "hidden"}, {"name": "OLD"}]});
        assert_eq!(changes(kept), ["secrets: sets NEW; keeps OLD"]);
        assert_eq!(changes(json!({"secrets": []})), ["secrets: removes OLD"]);
        let sidecar = json!({"name": "s", "env": [{"name": "A", "value": "hidden"}]});
        let shown = changes(json!({"source_config": {"resource_spec": {"sidecars": [sidecar]}}}));
        assert!(shown[0].starts_with("source_config.resource_spec.sidecars: ["), "{shown:?}");
        assert!(!shown[0].contains("hidden"));
    }

    #[test]
    fn unchanged_fields_are_not_shown() {
        let resources = |spec: Value| changes(json!({"source_config": {"resource_spec": spec}}));
        assert_eq!(resources(json!({"cpu": 1.0, "labels": {"a": "b"}})), Vec::<String>::new());
        assert_eq!(resources(json!({"cpu": 2})), ["source_config.resource_spec.cpu: 1.0 -> 2.0"]);
        assert_eq!(
            resources(json!({"labels": {}})),
            [r#"source_config.resource_spec.labels: {"a":"b"} -> {}"#]
        );
        assert_eq!(
            changes(json!({"source_revision_config": {"image_uri": "two"}})),
            [r#"source_revision_config.image_uri: "one" -> "two""#]
        );
        assert_eq!(
            changes(json!({"source_revision_config": {"image_uri": "one"}})),
            [r#"source_revision_config.image_uri: "one" again"#]
        );
    }
}
