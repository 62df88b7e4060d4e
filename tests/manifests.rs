//! `agentcli manifests`: files for Kubernetes.

#[cfg(feature = "system-tests")]
mod cluster;
mod command;
mod fields;
mod text;

use serde_json::Value;

use crate::harness::TestEnv;
use crate::output::compose_file::documents;

/// The image of the server in all tests.
const IMAGE: &str = "--image registry.example/agent:1";

/// A value that is in no manifests unless Secrets are written.
const SECRET: &str = "value-of-a-secret-98765";

/// Prints the manifests of the project in `env`, as text and as objects.
fn manifests(env: &TestEnv, arguments: &str) -> (String, Vec<Value>) {
    let run = env.run(&format!("manifests - --name agent {IMAGE} {arguments}"));
    assert_eq!(run.code, 0, "{arguments}: {}", run.err);
    let objects = documents(&run.out);
    (run.out, objects)
}

/// The object of a kind and name.
fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is_it = |it: &&Value| it["kind"] == kind && it["metadata"]["name"] == name;
    objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// The kinds and names of the objects, in order.
fn names(objects: &[Value]) -> Vec<String> {
    let name =
        |it: &Value| format!("{} {}", it["kind"].as_str().unwrap(), it["metadata"]["name"].as_str().unwrap());
    objects.iter().map(name).collect()
}
