//! Setup → compose file. `templates/compose.yaml.jinja` has its keys.

use core::net::IpAddr;
use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use crate::back::emit::heading::{WITH_VALUES, heading};
use crate::back::emit::template::render;
use crate::back::plan::{Health, Plan, Port, Service, ServiceImage, Setup, Variable, VolumeMount};

const TEMPLATE: &str = include_str!("../../../../../templates/compose.yaml.jinja");

/// How to write a setup.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// What follows the name of the configuration in the heading.
    pub remark: String,
    /// Whether to write the project name. Without it compose uses the name of the file's directory, and the file is the same
    /// on every machine.
    pub is_named: bool,
    /// How compose builds the project's image. Without it the image has to exist.
    pub build: Option<Build>,
    /// Whether `up` runs the file: the engine has all images, and `up` starts what ends.
    pub is_run_by_up: bool,
    /// The .env file, relative to the compose file.
    pub env_file: Option<String>,
    /// By service: the IP address that its ports are published on. Without one, they are published on all.
    pub addresses: BTreeMap<String, IpAddr>,
}

/// A build of the project's image.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Build {
    /// The context root, relative to the compose file.
    pub context: String,
    /// The Dockerfile, relative to the context root.
    pub dockerfile: String,
}

/// The values of the template.
#[derive(Serialize)]
struct Values<'a> {
    heading: String,
    name: Option<&'a str>,
    is_run_by_up: bool,
    /// What the services with the project's image share, if there are several.
    shared: Option<Container>,
    services: Vec<Entry<'a>>,
    volumes: &'a [String],
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(flatten)]
    container: Container,
    command: Vec<String>,
    ports: Vec<String>,
    volumes: Vec<String>,
    health: Option<&'a Health>,
    /// The command of the health check.
    check: Vec<String>,
    /// The services before it, and what it waits for.
    after: IndexMap<&'a str, &'static str>,
    ends: bool,
}

#[derive(Clone, PartialEq, Serialize)]
struct Container {
    is_server: bool,
    build: Option<Build>,
    image: String,
    env_file: Option<String>,
    environment: IndexMap<String, String>,
}

/// The compose file of a setup, with `\n` at the end of each line on every system.
pub fn compose(plan: &Plan, setup: &Setup, form: &Form) -> String {
    let services: Vec<Entry<'_>> = setup.services.iter().map(|service| entry(service, setup, form)).collect();
    let servers = services.iter().map(|it| &it.container).filter(|it| it.is_server).collect::<Vec<_>>();
    let shared = match servers[..] {
        [first, ref others @ ..] if !others.is_empty() && others.iter().all(|it| *it == first) => {
            Some(first.clone())
        }
        _ => None,
    };
    let values = Values {
        heading: heading(plan, &form.remark) + if has_values(plan, setup) { WITH_VALUES } else { "" },
        name: form.is_named.then_some(&*setup.name),
        is_run_by_up: form.is_run_by_up,
        shared,
        services,
        volumes: &setup.volumes,
    };
    render(TEMPLATE, &values)
}

/// Whether the file has values of the configuration's `env`.
fn has_values(plan: &Plan, setup: &Setup) -> bool {
    let is_value = |(name, value): (&String, &Variable)| {
        plan.env.names.contains(name) && matches!(value, Variable::Text { .. })
    };
    setup.services.iter().any(|service| service.environment.iter().any(is_value))
}

fn entry<'a>(service: &'a Service, setup: &'a Setup, form: &Form) -> Entry<'a> {
    let address = form.addresses.get(&service.name);
    let check = service.health.iter().filter(|health| !health.command.is_empty());
    let check = check.flat_map(|health| ["CMD"].into_iter().chain(health.command.iter().map(String::as_str)));
    let mount = |it: &VolumeMount| literal(&format!("{}:{}", it.volume, it.target));
    Entry {
        name: &service.name,
        container: container(service, form),
        command: service.command.iter().flatten().map(|word| literal(word)).collect(),
        ports: service.ports.iter().map(|port| published(port, address)).collect(),
        volumes: service.mounts.iter().map(mount).collect(),
        health: service.health.as_ref(),
        check: check.map(literal).collect(),
        after: service.after.iter().map(|other| (&**other, setup.condition(other))).collect(),
        ends: service.ends,
    }
}

fn container(service: &Service, form: &Form) -> Container {
    let (ServiceImage::Built { name } | ServiceImage::Named { name }) = &service.image;
    let is_built = matches!(service.image, ServiceImage::Built { .. });
    let environment = service.environment.iter().map(|(name, value)| (name.clone(), variable(value)));
    Container {
        is_server: service.is_server,
        // Compose names the images that it builds.
        build: form
            .build
            .as_ref()
            .filter(|_| is_built)
            .map(|it| Build { context: literal(&it.context), dockerfile: literal(&it.dockerfile) }),
        image: literal(name),
        env_file: form.env_file.as_deref().filter(|_| service.env_file.is_some()).map(literal),
        environment: environment.collect(),
    }
}

/// A string in which compose interpolates nothing. It never does so in keys.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
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

/// A value with the variable that compose takes it from, if there is one.
fn variable(value: &Variable) -> String {
    match value {
        Variable::Text { text } => literal(text),
        Variable::Default { before, name, default, after } => {
            format!("{}${{{name}:-{default}}}{}", literal(before), literal(after))
        }
        Variable::From { names, is_needed } => {
            let otherwise = if *is_needed { "?is needed and not set" } else { "-" };
            names.first().map(|name| format!("${{{name}:{otherwise}}}")).unwrap_or_default()
        }
    }
}
