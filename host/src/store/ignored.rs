//! The fields that a service on one machine keeps and ignores.

use agentcli::api::wire::{Deployment, Object};
use serde_json::{Value, json};

/// The resource fields that are used.
const USED: &[&str] = &["min_scale", "max_scale", "cpu", "cpu_limit", "memory_mb", "memory_limit_mb"];

/// Fields of clusters, besides the resources.
const OF_CLUSTERS: &[&str] = &["listener_id", "listener_config"];

/// The warning about the ignored fields of a deployment, if any are set.
pub(super) fn warning(deployment: &Deployment) -> Option<String> {
    let config = fields(json!(deployment.source_config));
    let spec = config.get("resource_spec").cloned().map(fields).unwrap_or_default();
    let of_clusters = OF_CLUSTERS.iter().filter(|name| config.get(**name).is_some_and(is_set));
    let resources = spec.iter().filter(|(name, value)| !USED.contains(&name.as_str()) && is_set(value));
    let references = deployment.secret_references.iter().filter(|references| !references.is_empty());
    let ignored: Vec<String> = resources
        .map(|(name, _)| format!("source_config.resource_spec.{name}"))
        .chain(of_clusters.map(|name| format!("source_config.{name}")))
        .chain(references.map(|_| "secret_references".to_owned()))
        .collect();
    if ignored.is_empty() {
        return None;
    }
    Some(format!(
        "ignoring fields that need a cluster: {}; `agentcli manifests` writes Kubernetes manifests with them",
        ignored.join(", ")
    ))
}

fn fields(record: Value) -> Object {
    if let Value::Object(fields) = record { fields } else { Object::new() }
}

/// Whether a value says anything.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}
