//! Objects of Kubernetes → YAML documents.

use serde_json::Value;

use crate::back::emit::{heading, yaml};
use crate::back::plan::Plan;

/// The documents of `objects`, made from a plan.
pub fn manifests(plan: &Plan, objects: &[Value], remarks: &[String]) -> String {
    let text = documents(remarks, objects);
    format!("{}{text}", heading::comments(plan, "manifests"))
}

/// The documents of `objects`, each after a line `---`, below comments.
pub fn documents(comments: &[String], objects: &[Value]) -> String {
    let comments = comments.iter().map(|line| format!("# {}\n", yaml::comment(line)));
    let objects = objects.iter().map(|object| format!("---\n{}", yaml::block(object)));
    comments.chain(objects).collect()
}
