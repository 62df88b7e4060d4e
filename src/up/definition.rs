//! The definitions of the containers of a setup.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::labels::{self, label};
use super::session::Session;
use crate::compiler::back::plan::{Service, ServiceImage, VolumeMount};
use crate::engine::{ContainerSpec, Policy};

/// Raised when the same definition becomes another container.
const FORMAT: u32 = 2;

/// The definition of a container.
#[derive(Clone)]
pub(super) struct Definition {
    pub(super) service: String,
    pub(super) spec: ContainerSpec,
    /// The name of the image, if it is built.
    pub(super) built: Option<String>,
    /// Services that have to be healthy before it starts, or have ended.
    pub(super) after: Vec<String>,
    /// Whether it ends by itself.
    pub(super) ends: bool,
    /// The hash of the whole definition, values of variables included.
    pub(super) hash: String,
}

/// The name of the image that a service runs.
pub(super) fn image_name(service: &Service) -> &str {
    match &service.image {
        ServiceImage::Built { name } | ServiceImage::Named { name } => name,
    }
}

/// The network that all services are on.
pub(super) fn network(session: &Session) -> String {
    format!("{}_default", session.setup.name)
}

/// A volume's name on the engine.
pub(super) fn volume(session: &Session, volume: &str) -> String {
    format!("{}_{volume}", session.setup.name)
}

/// The containers, in the order of the services. `ids` are the IDs of the images by name.
pub(super) fn definitions(session: &Session, ids: &BTreeMap<String, String>) -> Vec<Definition> {
    session.setup.services.iter().map(|service| definition(session, service, ids)).collect()
}

fn definition(session: &Session, service: &Service, ids: &BTreeMap<String, String>) -> Definition {
    let image = ids.get(image_name(service)).cloned().unwrap_or_default();
    let environment = session.environment(service);
    let hash = hash(session, service, &image, &environment);
    let mount = |mount: &VolumeMount| VolumeMount {
        volume: volume(session, &mount.volume),
        target: mount.target.clone(),
    };
    let condition = |name: &String| format!("{name}:{}:false", session.setup.condition(name));
    let after: Vec<String> = service.after.iter().map(condition).collect();
    let mut labels = labels::of_project(&session.setup.name);
    labels.extend([
        label(labels::SERVICE, &service.name),
        label(labels::NUMBER, "1"),
        label(labels::ONE_OFF, "False"),
        label(labels::HASH, &hash),
        label(labels::IMAGE, &image),
        label(labels::AFTER, after.join(",")),
        label(labels::DIRECTORY, session.directory.display().to_string()),
        label(labels::FILES, session.config.display().to_string()),
    ]);
    let built = match &service.image {
        ServiceImage::Built { name } => Some(name.clone()),
        ServiceImage::Named { .. } => None,
    };
    labels.extend(built.iter().map(|name| label(labels::BUILT, name)));
    if service.name == session.server {
        labels.push(label(labels::URL, &session.urls.api));
    }
    let spec = ContainerSpec {
        name: format!("{}-{}-1", session.setup.name, service.name),
        // By name, which the engine shows.
        image: image_name(service).to_owned(),
        command: service.command.clone(),
        environment: environment.into_iter().collect(),
        labels,
        ports: service.ports.clone(),
        address: session.addresses.get(&service.name).copied(),
        mounts: service.mounts.iter().map(mount).collect(),
        health: service.health.clone(),
        network: network(session),
        aliases: vec![service.name.clone()],
        policy: Policy { reaches_machine: true, ..Policy::default() },
    };
    let (after, ends) = (service.after.clone(), service.ends);
    Definition { service: service.name.clone(), spec, built, after, ends, hash }
}

fn hash(session: &Session, service: &Service, image: &str, environment: &IndexMap<String, String>) -> String {
    let definition = json!([
        FORMAT,
        session.setup.name,
        service.name,
        image_name(service),
        // Each change of the project makes another image.
        service.packages.as_deref().unwrap_or(image),
        service.command,
        environment,
        service.ports,
        session.addresses.get(&service.name),
        service.mounts,
        service.health,
        service.after,
    ]);
    hex::encode(Sha256::digest(definition.to_string()))
}
