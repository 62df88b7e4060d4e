//! What a patch changes.

use std::fmt;

use serde_json::{Value, json};

use crate::api::wire::{Deployment, DeploymentPatch};
use crate::cli::command::deploy::shown::hide;

/// One field that changes; values of secrets are taken out.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// With dots between names.
    field: String,
    before: Value,
    after: Value,
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
                write!(f, "secrets: given {}", listed(&after))?;
                let missing: Vec<&str> = before.into_iter().filter(|name| !after.contains(name)).collect();
                if !missing.is_empty() {
                    write!(f, "; not given {}", listed(&missing))?;
                }
                Ok(())
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

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What a patch changes of a deployment. Secrets that are given always count, as their values are not known, and so does
/// what a revision is made from: that is done anew, from what lies behind a tag or on a branch by now.
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
        after if !is_done_anew(field) && same(before, after) => {}
        after => {
            let (mut before, mut after) = (before.clone(), after.clone());
            hide_in(field, &mut before);
            hide_in(field, &mut after);
            changes.push(Change { field: field.to_owned(), before, after });
        }
    }
}

fn is_done_anew(field: &str) -> bool {
    field == "secrets" || field.starts_with("source_revision_config.")
}

/// Objects that the service takes as a whole.
fn is_free(field: &str) -> bool {
    field.ends_with(".labels") || field.ends_with(".annotations")
}

/// `1` and `1.0` are the same number.
fn same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| other.as_f64() == Some(number))
}

/// Hides what is secret in the value of a field, which may be the list of secrets itself.
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

    fn told(patch: Value) -> Vec<String> {
        let patch = serde_json::from_value(patch).unwrap();
        difference(&deployment(), &patch).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_changes_is_told_without_secrets() {
        let secrets = json!({"secrets": [{"name": "NEW", "value": "hidden"}]});
        assert_eq!(told(secrets.clone()), ["secrets: given NEW; not given OLD"]);
        let changes = difference(&deployment(), &serde_json::from_value(secrets).unwrap());
        assert!(!changes[0].json().to_string().contains("hidden"));
        let sidecar = json!({"name": "s", "env": [{"name": "A", "value": "hidden"}]});
        let told_of = told(json!({"source_config": {"resource_spec": {"sidecars": [sidecar]}}}));
        assert!(told_of[0].starts_with("source_config.resource_spec.sidecars: ["), "{told_of:?}");
        assert!(!told_of[0].contains("hidden"));
    }

    #[test]
    fn what_stays_is_not_told() {
        let resources = |spec: Value| told(json!({"source_config": {"resource_spec": spec}}));
        assert_eq!(resources(json!({"cpu": 1.0, "labels": {"a": "b"}})), Vec::<String>::new());
        assert_eq!(resources(json!({"cpu": 2})), ["source_config.resource_spec.cpu: 1.0 -> 2.0"]);
        assert_eq!(
            resources(json!({"labels": {}})),
            [r#"source_config.resource_spec.labels: {"a":"b"} -> {}"#]
        );
        assert_eq!(
            told(json!({"source_revision_config": {"image_uri": "two"}})),
            [r#"source_revision_config.image_uri: "one" -> "two""#]
        );
        assert_eq!(
            told(json!({"source_revision_config": {"image_uri": "one"}})),
            [r#"source_revision_config.image_uri: "one" again"#]
        );
    }
}
