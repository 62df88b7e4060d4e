//! Setup → compose file, in the Compose Specification of 2021: the first releases of the plugin refuse newer keys, such as
//! `start_interval`.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::compiler::back::emit::{heading, quote, template};
use crate::compiler::back::plan::{Health, Plan, Port, Service, ServiceImage, Setup, Variable};

const TEMPLATE: &str = include_str!("../../../../templates/compose.yaml.jinja");

/// Number of spaces before a variable.
const INDENT: usize = 6;

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

/// A service as the template needs it, with all strings quoted.
#[derive(Serialize)]
struct Rendered<'a> {
    name: String,
    image: Option<String>,
    build: Option<RenderedBuild>,
    is_here: bool,
    command: Vec<String>,
    env_file: Option<String>,
    environment: Vec<RenderedVariable>,
    ports: Vec<String>,
    volumes: Vec<String>,
    health: Option<RenderedHealth<'a>>,
    after: Vec<RenderedAfter>,
}

#[derive(Serialize)]
struct RenderedAfter {
    name: String,
    condition: &'static str,
}

#[derive(Serialize)]
struct RenderedBuild {
    context: String,
    dockerfile: String,
}

#[derive(Serialize)]
struct RenderedVariable {
    /// With its colon.
    name: String,
    value: String,
}

#[derive(Serialize)]
struct RenderedHealth<'a> {
    #[serde(flatten)]
    health: &'a Health,
    command: Vec<String>,
}

/// The compose file of a setup, with `\n` at the end of each line on every system.
pub fn compose(plan: &Plan, setup: &Setup, form: &Form) -> String {
    let services: Vec<Rendered<'_>> =
        setup.services.iter().map(|service| rendered(service, setup, form)).collect();
    let volumes: Vec<String> = setup.volumes.iter().map(|volume| quote::yaml_key(volume)).collect();
    let context = serde_json::json!({
        "config": heading::config(plan),
        "name": form.is_named.then(|| quote::compose(&setup.name)),
        "services": services,
        "volumes": volumes,
    });
    template::render(TEMPLATE, context)
}

fn rendered<'a>(service: &'a Service, setup: &Setup, form: &Form) -> Rendered<'a> {
    let (built, name) = match &service.image {
        ServiceImage::Built { name } => (true, name),
        ServiceImage::Named { name } => (false, name),
    };
    let build = form.build.as_ref().filter(|_| built);
    let quoted = |words: &[String]| words.iter().map(|word| quote::compose(word)).collect::<Vec<_>>();
    let environment = service.environment.iter();
    let after =
        |name: &String| RenderedAfter { name: quote::yaml_key(name), condition: setup.condition(name) };
    Rendered {
        name: quote::yaml_key(&service.name),
        // Compose names the images that it builds.
        image: build.is_none().then(|| quote::compose(name)),
        build: build.map(|build| RenderedBuild {
            context: quote::compose(&build.context),
            dockerfile: quote::compose(&build.dockerfile),
        }),
        is_here: form.are_images_here,
        command: quoted(service.command.as_deref().unwrap_or_default()),
        env_file: service.env_file.as_ref().and(form.env_file.as_deref()).map(quote::compose),
        environment: environment
            .map(|(name, value)| RenderedVariable {
                name: quote::before_value(&quote::yaml_key(name), INDENT),
                value: variable(value),
            })
            .collect(),
        ports: service.ports.iter().map(|port| published(port, form.addresses.get(&service.name))).collect(),
        volumes: service
            .mounts
            .iter()
            .map(|mount| quote::compose(&format!("{}:{}", mount.volume, mount.target)))
            .collect(),
        health: service
            .health
            .as_ref()
            .map(|health| RenderedHealth { health, command: quoted(&health.command) }),
        after: service.after.iter().map(after).collect(),
    }
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

fn variable(value: &Variable) -> String {
    match value {
        Variable::Text { text } => quote::compose(text),
        Variable::From { names, is_needed } => quote::yaml(&first_of(names, *is_needed)),
    }
}

/// A compose expression for the first of `names` that is set and not empty.
fn first_of(names: &[String], is_needed: bool) -> String {
    let Some((last, others)) = names.split_last() else { return String::new() };
    let last = match is_needed {
        true => format!("${{{last}:?is needed and not set}}"),
        false => format!("${{{last}:-}}"),
    };
    others.iter().rev().fold(last, |behind, name| format!("${{{name}:-{behind}}}"))
}
