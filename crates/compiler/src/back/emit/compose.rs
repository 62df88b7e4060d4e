//! Setup → compose file, in the Compose Specification of 2021: the first releases of the plugin refuse newer keys, such as
//! `start_interval`.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::back::emit::{heading, yaml};
use crate::back::plan::{Health, Plan, Port, Service, ServiceImage, Setup, Variable};

/// How to write a setup.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// Whether to write the project name. Without it compose uses the name of the file's directory, and the file is the same
    /// on every machine.
    pub is_named: bool,
    /// How compose builds the project's image. Without it the image has to exist.
    pub build: Option<Build>,
    /// Whether compose must not pull images, since the engine has all of them.
    pub are_images_here: bool,
    /// The .env file, relative to the compose file.
    pub env_file: Option<String>,
    /// By service: the IP address that its ports are published on. Without one, they are published on all.
    pub addresses: BTreeMap<String, IpAddr>,
}

/// A build of the project's image.
#[derive(Clone, Debug)]
pub struct Build {
    /// The context root, relative to the compose file.
    pub context: String,
    /// The Dockerfile, relative to the context root.
    pub dockerfile: String,
}

/// The compose file of a setup, with `\n` at the end of each line on every system.
pub fn compose(plan: &Plan, setup: &Setup, form: &Form) -> String {
    let services: Map<String, Value> =
        setup.services.iter().map(|it| (it.name.clone(), service(it, setup, form))).collect();
    let volumes: Map<String, Value> = setup.volumes.iter().map(|it| (it.clone(), json!({}))).collect();
    let parts = members([
        ("name", form.is_named.then(|| literal(&setup.name))),
        ("services", Some(services.into())),
        ("volumes", Some(volumes.into())),
    ]);
    let parts = parts.into_iter().map(|(key, value)| yaml::block(&json!({ key: value })));
    format!("{}\n{}", heading::comments(plan, "compose"), parts.collect::<Vec<_>>().join("\n"))
}

fn service(service: &Service, setup: &Setup, form: &Form) -> Value {
    let (ServiceImage::Built { name } | ServiceImage::Named { name }) = &service.image;
    let is_built = matches!(service.image, ServiceImage::Built { .. });
    let build = form.build.as_ref().filter(|_| is_built);
    let environment: Map<String, Value> =
        service.environment.iter().map(|(name, value)| (name.clone(), variable(value))).collect();
    let address = form.addresses.get(&service.name);
    let ports: Value = service.ports.iter().map(|port| published(port, address)).collect();
    let mounts = service.mounts.iter().map(|mount| literal(&format!("{}:{}", mount.volume, mount.target)));
    let after: Map<String, Value> = service
        .after
        .iter()
        .map(|other| (other.clone(), json!({ "condition": setup.condition(other) })))
        .collect();
    let env_file = service.env_file.as_ref().and(form.env_file.as_deref());
    let members = members([
        (
            "build",
            build.map(|it| json!({ "context": literal(&it.context), "dockerfile": literal(&it.dockerfile) })),
        ),
        // Compose names the images that it builds.
        ("image", build.is_none().then(|| literal(name))),
        ("pull_policy", form.are_images_here.then(|| "never".into())),
        ("command", service.command.as_deref().map(literals)),
        ("env_file", env_file.map(|path| json!([literal(path)]))),
        ("environment", Some(environment.into())),
        ("ports", Some(ports)),
        ("volumes", Some(mounts.collect())),
        ("healthcheck", service.health.as_ref().map(health)),
        ("depends_on", Some(after.into())),
    ]);
    members.into()
}

fn health(health: &Health) -> Value {
    if health.command.is_empty() {
        return json!({ "disable": true });
    }
    let command = std::iter::once("CMD".to_owned()).chain(health.command.iter().cloned());
    json!({
        "test": literals(&command.collect::<Vec<_>>()),
        "interval": format!("{}s", health.interval),
        "timeout": format!("{}s", health.timeout),
        "retries": health.retries,
        "start_period": format!("{}s", health.start_period),
    })
}

/// The members that have a value, and an item where that is a list or a mapping.
fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
    let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    members.filter(|(_, value)| !is_empty(value)).collect()
}

fn literals(words: &[String]) -> Value {
    words.iter().map(|word| literal(word)).collect()
}

/// A string in which compose interpolates nothing. It never does so in keys.
fn literal(text: &str) -> Value {
    text.replace('$', "$$").into()
}

/// `127.0.0.1:8123:8000`
fn published(port: &Port, address: Option<&IpAddr>) -> String {
    let address = match address {
        None => String::new(),
        Some(IpAddr::V4(address)) => format!("{address}:"),
        Some(IpAddr::V6(address)) => format!("[{address}]:"),
    };
    format!("{address}{}:{}", port.host, port.container)
}

fn variable(value: &Variable) -> Value {
    match value {
        Variable::Text { text } => literal(text),
        Variable::From { names, is_needed } => first_of(names, *is_needed).into(),
    }
}

/// A compose expression for the first of `names` that is set and not empty.
fn first_of(names: &[String], is_needed: bool) -> String {
    let Some((last, others)) = names.split_last() else { return String::new() };
    let last =
        if is_needed { format!("${{{last}:?is needed and not set}}") } else { format!("${{{last}:-}}") };
    others.iter().rev().fold(last, |behind, name| format!("${{{name}:-{behind}}}"))
}
