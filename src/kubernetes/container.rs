//! Containers that the user adds: their fields as they are, but for values of variables, which are in a Secret.

use serde_json::{Map, Value, json};

use super::{Refused, Scope, metadata};
use crate::api::wire::{ContainerSpec, EnvironmentVariable, Redacted};

/// Suffix of the name of the Secret with the values of their variables.
pub(super) const SECRET: &str = "containers";

/// The restart policy that makes an init container a sidecar.
const ALWAYS: &str = "Always";

/// All of them.
pub(super) fn all<'a>(scope: &Scope<'a>) -> impl Iterator<Item = &'a ContainerSpec> {
    let resources = &scope.request.resources;
    let lists = [&resources.init_containers, &resources.sidecars];
    lists.into_iter().flatten().flatten()
}

/// Whether it starts before the other containers and runs beside them.
pub(super) fn is_sidecar(spec: &ContainerSpec) -> bool {
    spec.restart_policy.as_deref() == Some(ALWAYS)
}

/// The container.
pub(super) fn container(scope: &Scope<'_>, spec: &ContainerSpec) -> Result<Value, Refused> {
    let (name, _) = (checked_name(spec)?, checked_image(spec)?);
    let variables = spec.env.iter().flatten().map(|variable| entry(scope, name, variable));
    let variables: Vec<Value> = variables.collect::<Result<_, _>>()?;
    let unwritable =
        |error| Refused::new(format!("the container `{name}` is not JSON: {error}"), "rewrite it");
    let mut object = serde_json::to_value(ContainerSpec { env: None, ..spec.clone() }).map_err(unwritable)?;
    if !variables.is_empty() {
        object["env"] = variables.into();
    }
    Ok(object)
}

/// The same, as one that runs beside the only container of a Job: the Job ends without it.
pub(super) fn beside_job(scope: &Scope<'_>, spec: &ContainerSpec) -> Result<Value, Refused> {
    let mut object = container(scope, spec)?;
    object["restartPolicy"] = ALWAYS.into();
    Ok(object)
}

/// The values of their variables, by the key in the Secret.
pub(super) fn values(scope: &Scope<'_>) -> Result<Vec<(String, Redacted)>, Refused> {
    let mut values = Vec::new();
    for spec in all(scope) {
        let name = checked_name(spec)?;
        for variable in spec.env.iter().flatten() {
            if let (Some(of), Some(value)) = (&variable.name, &variable.value) {
                values.push((key(name, of)?, value.clone()));
            }
        }
    }
    Ok(values)
}

fn checked_name(spec: &ContainerSpec) -> Result<&str, Refused> {
    let name = spec.name.as_deref().unwrap_or_default();
    metadata::check_label("the name of a container", name)?;
    Ok(name)
}

fn checked_image(spec: &ContainerSpec) -> Result<&str, Refused> {
    let image = spec.image.as_deref().filter(|image| !image.is_empty());
    let name = spec.name.as_deref().unwrap_or_default();
    image.ok_or_else(|| Refused::new(format!("the container `{name}` has no image"), "add its `image`"))
}

fn entry(scope: &Scope<'_>, container: &str, variable: &EnvironmentVariable) -> Result<Value, Refused> {
    let name = variable.name.as_deref().filter(|name| !name.is_empty()).ok_or_else(|| {
        Refused::new(format!("a variable of the container `{container}` has no name"), "add its `name`")
    })?;
    let mut object = Map::new();
    object.insert("name".to_owned(), name.into());
    let source = match (&variable.value, &variable.value_from) {
        (Some(_), _) => Some(reference(&scope.name(SECRET), &key(container, name)?)),
        (None, source) => source.clone().map(Value::Object),
    };
    object.extend(source.map(|source| ("valueFrom".to_owned(), source)));
    Ok(Value::Object(object))
}

/// `CONTAINER.VARIABLE`
fn key(container: &str, variable: &str) -> Result<String, Refused> {
    let key = format!("{container}.{variable}");
    if is_key(&key) {
        Ok(key)
    } else {
        Err(Refused::new(
            format!("a variable of the container `{container}` has a name that no key of a Secret can have"),
            "use letters, digits, `.`, `_` and `-`",
        ))
    }
}

/// Whether a Secret can have this key.
pub(super) fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 253
        && !key.starts_with("..")
        && key != "."
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The source of a variable: a key of a Secret.
pub(super) fn reference(secret: &str, key: &str) -> Value {
    json!({ "secretKeyRef": { "name": secret, "key": key } })
}
