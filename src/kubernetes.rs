//! Image and resources → objects of Kubernetes. It is pure, and decides everything that the objects say;
//! `templates/kubernetes.yaml.jinja` is how they say it.
//!
//! Values of variables and containers are in Secrets alone, and there only if they are asked for. docs/guides/kubernetes.md
//! has the table of each resource field and its place.

mod compute;
mod container;
mod metadata;
mod process;
mod secrets;
mod values;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use crate::api::wire::{Redacted, ResourceSpec, SecretReference, Tier, TierSpec};
use crate::compiler::back::emit::template::render;
use crate::compiler::manifests::yaml;
use crate::compiler::server::product::Product;
use crate::compiler::server::{cluster, setup};
use values::Values;

const TEMPLATE: &str = include_str!("../templates/kubernetes.yaml.jinja");

/// The inputs of the manifests.
#[derive(Clone)]
pub struct Request<'a> {
    /// The configuration of the image, as text: pods are replaced when it changes.
    pub configuration: &'a str,
    /// Name of the deployment, which starts the name of every object.
    pub name: String,
    /// Namespace of the objects; without it, the one of the client that applies them.
    pub namespace: Option<String>,
    /// Image of the server.
    pub image: String,
    /// Images with their digests, by name, instead of those that tags name.
    pub images: BTreeMap<String, String>,
    /// Image of the executors of the distributed runtime.
    pub executor_image: Option<String>,
    /// The server.
    pub server: &'static Product,
    /// Whether the server is the one for JavaScript that agentcli installs.
    pub is_javascript: bool,
    /// Prefix of the server's routes, unless a variable sets another; absent if it is not known.
    pub prefix: Option<String>,
    /// Resources.
    pub resources: ResourceSpec,
    /// Variables from secrets of the cluster.
    pub references: Vec<SecretReference>,
    /// Variables of the server, with their values if they are known.
    pub variables: IndexMap<String, Option<Redacted>>,
    /// Whether the manifests contain Secrets with these values. Otherwise they refer to Secrets that have to exist.
    pub writes_secrets: bool,
    /// Host that an Ingress serves.
    pub host: Option<String>,
    /// The revision that the pods belong to, as their label.
    pub revision: Option<u32>,
}

impl Request<'_> {
    /// The name of an object: that of the deployment, and `suffix`.
    fn object(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }
}

/// The objects, in the order in which they are applied.
#[derive(Debug)]
pub struct Manifests {
    /// The objects as YAML documents.
    pub text: String,
    /// The same as values.
    pub objects: Vec<Value>,
    /// Names of the images of the services beside the server, without digests of [`Request::images`].
    pub services: Vec<&'static str>,
    /// The Secrets that the objects refer to: by name, their keys with the values that are known.
    pub secrets: IndexMap<String, IndexMap<String, Option<Redacted>>>,
    /// Whether a variable is a key that the server needs, if it needs any.
    pub has_key: bool,
    /// What the cluster has to have before, as sentences.
    pub requirements: Vec<String>,
    /// Remarks for the user, as lowercase fragments.
    pub notes: Vec<String>,
}

/// A request that no manifests fulfil.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// A lowercase fragment.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl Refused {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// The objects that run a server.
///
/// # Errors
///
/// A name is not one of Kubernetes, or the resources contradict each other.
pub fn manifests(request: &Request<'_>) -> Result<Manifests, Refused> {
    metadata::check_names(request)?;
    let mut notes = Vec::new();
    let scope = Scope::new(request, &mut notes)?;
    let secrets = secrets::secrets(&scope)?;
    let requirements = secrets::requirements(&scope, &secrets);
    let values = Values::new(&scope, secrets::written(&scope, &secrets, &mut notes), &mut notes)?;
    let databases = [(scope.has_database, setup::POSTGRES.image), (scope.has_redis, setup::REDIS.image)];
    let services = databases.into_iter().filter(|(is_run, _)| *is_run).map(|(_, image)| image).collect();
    let text = render(TEMPLATE, &values);
    let objects = yaml::documents(&text).map_err(|broken| {
        Refused::new(format!("a container or volume is no YAML: {}", broken.message), "change the resources")
    })?;
    let has_key = secrets::has_key(&scope);
    Ok(Manifests { text, objects, services, secrets, has_key, requirements, notes })
}

/// Takes the values of the variables of containers out of `resources` of a deployment, and leaves references to the keys of
/// its Secret. Returns the name of the Secret and the values by key.
///
/// # Errors
///
/// A container or a variable has no name that a key can have.
pub fn take_values(
    name: &str,
    resources: &mut ResourceSpec,
) -> Result<(String, IndexMap<String, Redacted>), Refused> {
    Ok((format!("{name}-{}", container::SECRET), container::take_values(name, resources)?))
}

/// A request with what is derived from it once.
struct Scope<'a> {
    request: &'a Request<'a>,
    /// Whether the manifests run PostgreSQL.
    has_database: bool,
    /// Whether the manifests run Redis.
    has_redis: bool,
    /// Whether queue workers execute the runs.
    has_queue: bool,
    /// Whether the distributed runtime executes the runs.
    is_distributed: bool,
    /// Time that a stopping server gives its runs, in seconds.
    drain: u64,
    /// The variables that are keys of the Secret of the server.
    variables: IndexMap<&'a str, Option<&'a Redacted>>,
}

impl<'a> Scope<'a> {
    fn new(request: &'a Request<'a>, notes: &mut Vec<String>) -> Result<Self, Refused> {
        let is_referred = |names: &[&str]| {
            request.references.iter().any(|it| it.name.as_deref().is_some_and(|name| names.contains(&name)))
        };
        let has_databases = request.server.has_replicas();
        let has_database = has_databases && !is_referred(&setup::DATABASE_VARIABLES);
        let has_redis = has_databases && !is_referred(&[setup::REDIS_URI.0]);
        let variables = secrets::variables(request, notes)?;
        let resources = &request.resources;
        let is_set = |tier| resources.tier(tier) != TierSpec::default();
        let unknown =
            resources.other.keys().map(|name| format!("ignoring the unknown resource field `{name}`"));
        notes.extend(unknown);
        Ok(Self {
            request,
            has_database,
            has_redis,
            has_queue: is_set(Tier::Queue),
            is_distributed: is_set(Tier::Orchestrator) || is_set(Tier::Executor),
            drain: drain(request, notes),
            variables,
        })
    }
}

/// The drain that `env` sets, or else the default of the server.
fn drain(request: &Request<'_>, notes: &mut Vec<String>) -> u64 {
    let name = cluster::DRAIN_VARIABLE;
    let Some(value) = request.variables.get(name) else { return cluster::DRAIN };
    let seconds = value.as_ref().and_then(|value| value.expose().trim().parse::<u32>().ok());
    if seconds.is_none() {
        let default = cluster::DRAIN;
        notes.push(format!(
            "using {default} for `{name}`, since its value is not known or not a number of seconds"
        ));
    }
    seconds.map_or(cluster::DRAIN, u64::from)
}
