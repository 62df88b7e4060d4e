//! Names, labels and annotations.

use serde_json::{Map, Value, json};

use super::{Refused, Request, Scope};
use crate::api::wire::Object;

/// The longest name of a deployment, in characters: the name of its Job has 20 more, and becomes a label.
const LONGEST: usize = 40;
/// The longest name of a namespace or container, in characters.
const LONGEST_LABEL: usize = 63;

/// Refuses names that are no labels of RFC 1123.
pub(super) fn check_names(request: &Request<'_>) -> Result<(), Refused> {
    check("the name of the deployment", &request.name, LONGEST, "pass another --name")?;
    let mut namespace = request.namespace.iter();
    namespace.try_for_each(|name| check_label("the namespace", name))
}

/// Refuses a name that is no label of RFC 1123.
pub(super) fn check_label(what: &str, name: &str) -> Result<(), Refused> {
    check(what, name, LONGEST_LABEL, "rename it")
}

fn check(what: &str, name: &str, longest: usize, hint: &str) -> Result<(), Refused> {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = name.starts_with(is_end)
        && name.ends_with(is_end)
        && name.chars().all(|c| is_end(c) || c == '-')
        && name.len() <= longest;
    if is_label {
        return Ok(());
    }
    let shown: String = name.chars().filter(|c| !c.is_control()).collect();
    Err(Refused::new(
        format!("{what}, `{shown}`, is not a name in Kubernetes"),
        format!("{hint}: use lowercase letters, digits and inner `-`, at most {longest} characters"),
    ))
}

/// An object of `kind`, with its API version before.
pub(super) fn object(
    scope: &Scope<'_>,
    (version, kind): (&str, &str),
    name: String,
    component: &str,
) -> Result<Value, Refused> {
    let mut metadata = json!({ "name": name, "namespace": scope.request.namespace });
    metadata["labels"] = labels(scope, component)?;
    metadata["annotations"] = annotations(scope, [])?;
    Ok(json!({ "apiVersion": version, "kind": kind, "metadata": metadata }))
}

/// The labels by which Services and workloads find their pods.
pub(super) fn selector(scope: &Scope<'_>, component: &str) -> Value {
    json!({
        "app.kubernetes.io/name": "agent-server",
        "app.kubernetes.io/instance": scope.request.name,
        "app.kubernetes.io/component": component,
    })
}

/// The user's labels and ours, which take precedence.
pub(super) fn labels(scope: &Scope<'_>, component: &str) -> Result<Value, Refused> {
    let mut labels = words("labels", scope.request.resources.labels.as_ref())?;
    labels.insert("app.kubernetes.io/managed-by".to_owned(), "agentcli".into());
    if let Value::Object(selector) = selector(scope, component) {
        labels.extend(selector);
    }
    Ok(Value::Object(labels))
}

/// The user's annotations and `ours`; null if there are none.
pub(super) fn annotations<const N: usize>(
    scope: &Scope<'_>,
    ours: [(&str, String); N],
) -> Result<Value, Refused> {
    let mut annotations = words("annotations", scope.request.resources.annotations.as_ref())?;
    annotations.extend(ours.map(|(name, value)| (name.to_owned(), value.into())));
    Ok(if annotations.is_empty() { Value::Null } else { Value::Object(annotations) })
}

/// A free-form object as strings, which labels and annotations are.
fn words(field: &str, object: Option<&Object>) -> Result<Map<String, Value>, Refused> {
    let word = |(name, value): (&String, &Value)| match value {
        Value::String(_) => Ok((name.clone(), value.clone())),
        Value::Bool(_) | Value::Number(_) => Ok((name.clone(), value.to_string().into())),
        _ => Err(Refused::new(
            format!("`{name}` in the resource field `{field}` is not a string"),
            format!("write {field} as an object of strings"),
        )),
    };
    object.into_iter().flatten().map(word).collect()
}
