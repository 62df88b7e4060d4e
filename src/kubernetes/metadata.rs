//! Names, labels and annotations.

use serde_json::{Map, Value};

use super::{Refused, Request};
use crate::api::wire::Object;

/// The longest name of a deployment, in characters: the name of its Job has 20 more, and becomes a label.
const LONGEST: usize = 40;
/// The longest name of a namespace or container, in characters.
const LONGEST_LABEL: usize = 63;

/// The labels that the template sets.
const OWN: &[&str] = &[
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
];

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

/// The user's labels, except those that select pods and the one that names us.
pub(super) fn labels(request: &Request<'_>) -> Result<Map<String, Value>, Refused> {
    let mut labels = words("labels", request.resources.labels.as_ref())?;
    labels.retain(|name, _| !OWN.iter().any(|own| name == own));
    Ok(labels)
}

/// The user's annotations.
pub(super) fn annotations(request: &Request<'_>) -> Result<Map<String, Value>, Refused> {
    words("annotations", request.resources.annotations.as_ref())
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
