//! Deployments in a Kubernetes cluster of the user's, with nothing of ours running there.
//!
//! All calls go through `kubectl` as a child process: contexts, credential plugins, proxies and tunnels of its users work
//! as they do for them, and neither the binary nor its start-up grows by a client of the API. Values of secrets reach it on
//! stdin alone.
//!
//! The state is in the cluster. A revision is a ConfigMap with a [`Record`]: the inputs of its objects, without values of
//! secrets. Deploying, rolling back, updating and restarting are one operation: make a new revision from a record, apply
//! its objects, and wait for them. A Lease keeps two of them apart, and expires when its holder is killed.

mod access;
mod deploy;
mod difference;
mod error;
mod follow;
mod kubectl;
mod lease;
mod nodes;
mod revision;
mod rollout;
mod secrets;
mod status;
mod target;

pub use deploy::{Change, ContainerValues, run};
pub use error::{Error, Kind};
pub use nodes::Nodes;
pub use revision::{Deployment, Record, Revision};
pub use target::{Cluster, Target};

use std::borrow::Borrow;

use serde_json::{Value, json};

/// Our field manager, and the value of the label that marks our objects.
const MANAGER: &str = "agentcli";

/// The label of the deployment.
const INSTANCE: &str = "app.kubernetes.io/instance";

/// The label of the part.
const COMPONENT: &str = "app.kubernetes.io/component";

/// The label of our objects.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The annotation of revisions and workloads with the digest of their record.
const DIGEST: &str = "agentcli/digest";

/// The label of pods with their revision.
const REVISION: &str = "agentcli/revision";

/// The kinds of objects of manifests with their resources, which are removed when a revision no longer has them. Volumes
/// stay.
const KINDS: [(&str, &str); 9] = [
    ("ConfigMap", "configmaps"),
    ("Service", "services"),
    ("Deployment", "deployments.apps"),
    ("StatefulSet", "statefulsets.apps"),
    ("Job", "jobs.batch"),
    ("HorizontalPodAutoscaler", "horizontalpodautoscalers.autoscaling"),
    ("PodDisruptionBudget", "poddisruptionbudgets.policy"),
    ("NetworkPolicy", "networkpolicies.networking.k8s.io"),
    ("Ingress", "ingresses.networking.k8s.io"),
];

/// The resources of the kinds that these objects have.
fn resources(objects: &[impl Borrow<Value>]) -> Vec<&'static str> {
    let is_used = |kind: &str| objects.iter().any(|object| object.borrow()["kind"] == kind);
    KINDS.into_iter().filter(|(kind, _)| is_used(kind)).map(|(_, resource)| resource).collect()
}

/// The labels of an object that no manifest has.
fn labels(name: &str, component: &str) -> Value {
    json!({
        "app.kubernetes.io/name": "agent-server", INSTANCE: name, COMPONENT: component, MANAGED_BY: MANAGER,
    })
}

/// A string in an object; empty if it is absent.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A label of an object.
fn label<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["labels"][name].as_str().unwrap_or_default()
}

/// `Deployment hello`
fn title(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// The objects as one that kubectl reads.
fn list<'a>(objects: impl IntoIterator<Item = &'a Value>) -> String {
    let items: Vec<&Value> = objects.into_iter().collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}
