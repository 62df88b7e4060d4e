//! Containers that the user adds: their fields as they are, but for values of variables, which are in a Secret.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Refused, Request, metadata};
use crate::api::wire::{ContainerSpec, EnvironmentVariable, Redacted, ResourceSpec};

/// Suffix of the name of the Secret with the values of their variables.
pub(super) const SECRET: &str = "containers";

/// The member and the value of it that make an init container run beside the others.
const POLICY: &str = "restartPolicy";
const ALWAYS: &str = "Always";

/// Containers by their place in a pod.
#[derive(Serialize)]
pub(super) struct Containers {
    /// Those that run before the server.
    before: Vec<Value>,
    /// Those that run beside it.
    beside: Vec<Value>,
    /// Those that run before or beside the only container of a Job, which ends without them.
    before_job: Vec<Value>,
}

impl Containers {
    pub(super) fn new(request: &Request<'_>) -> Result<Self, Refused> {
        let list = |specs: &Option<Vec<ContainerSpec>>| {
            let specs = specs.iter().flatten();
            specs.map(|spec| container(request, spec)).collect::<Result<Vec<Value>, _>>()
        };
        let first = list(&request.resources.init_containers)?;
        let sidecars = list(&request.resources.sidecars)?;
        let (always, beside): (Vec<_>, _) = sidecars.iter().cloned().partition(|it| it[POLICY] == ALWAYS);
        let job = sidecars.into_iter().map(|mut container| {
            container[POLICY] = ALWAYS.into();
            container
        });
        Ok(Self {
            before: [&first[..], &always].concat(),
            beside,
            before_job: first.into_iter().chain(job).collect(),
        })
    }
}

/// The container.
fn container(request: &Request<'_>, spec: &ContainerSpec) -> Result<Value, Refused> {
    let (name, _) = (checked_name(spec)?, checked_image(spec)?);
    let variables = spec.env.iter().flatten().map(|variable| entry(request, name, variable));
    let variables: Vec<Value> = variables.collect::<Result<_, _>>()?;
    let mut object = json(&ContainerSpec { env: None, ..spec.clone() })?;
    if !variables.is_empty() {
        object["env"] = variables.into();
    }
    Ok(object)
}

/// The values of their variables, by the key in the Secret.
pub(super) fn values(request: &Request<'_>) -> Result<Vec<(String, Redacted)>, Refused> {
    let mut values = Vec::new();
    let resources = &request.resources;
    for spec in [&resources.init_containers, &resources.sidecars].into_iter().flatten().flatten() {
        let name = checked_name(spec)?;
        for variable in spec.env.iter().flatten() {
            if let (Some(of), Some(value)) = (&variable.name, &variable.value) {
                values.push((key(name, of)?, value.clone()));
            }
        }
    }
    Ok(values)
}

/// Takes the values of their variables out of `resources`, by the key in the Secret, and leaves references to it.
pub(super) fn take_values(
    name: &str,
    resources: &mut ResourceSpec,
) -> Result<IndexMap<String, Redacted>, Refused> {
    let mut values = IndexMap::new();
    let all = [&mut resources.init_containers, &mut resources.sidecars];
    for spec in all.into_iter().flatten().flatten() {
        let container = checked_name(spec)?.to_owned();
        for variable in spec.env.iter_mut().flatten() {
            if let (Some(of), Some(value)) = (&variable.name, variable.value.take()) {
                let key = key(&container, of)?;
                variable.value_from = reference(&format!("{name}-{SECRET}"), &key).as_object().cloned();
                values.insert(key, value);
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

fn entry(request: &Request<'_>, container: &str, variable: &EnvironmentVariable) -> Result<Value, Refused> {
    let name = variable.name.as_deref().filter(|name| !name.is_empty()).ok_or_else(|| {
        Refused::new(format!("a variable of the container `{container}` has no name"), "add its `name`")
    })?;
    let mut object = Map::new();
    object.insert("name".to_owned(), name.into());
    let source = match (&variable.value, &variable.value_from) {
        (Some(_), _) => Some(reference(&request.object(SECRET), &key(container, name)?)),
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
fn reference(secret: &str, key: &str) -> Value {
    json!({ "secretKeyRef": { "name": secret, "key": key } })
}

/// What the user writes, without absent members.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Result<Value, Refused> {
    let mut value = serde_json::to_value(value)
        .map_err(|error| Refused::new(format!("a container or volume is not JSON: {error}"), "rewrite it"))?;
    remove_nulls(&mut value);
    Ok(value)
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
