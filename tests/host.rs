//! The deployment service, asked over HTTP.

mod answers;
#[cfg(feature = "system-tests")]
mod archives;
#[cfg(feature = "system-tests")]
mod codehost;
mod deployments;
mod description;
mod distribution;
#[cfg(feature = "system-tests")]
mod down;
#[cfg(feature = "system-tests")]
mod fuzz;
#[cfg(feature = "system-tests")]
pub(crate) mod git_server;
#[cfg(feature = "system-tests")]
mod hostile;
mod ignored;
#[cfg(feature = "system-tests")]
mod isolation;
mod limits;
mod list;
mod listeners;
#[cfg(feature = "system-tests")]
mod locked;
mod logs;
mod manifests;
mod matrix;
mod never_panics;
mod page;
mod patch;
mod proxy;
mod quotas;
mod reconcile;
#[cfg(feature = "system-tests")]
mod referee;
mod revisions;
#[cfg(feature = "system-tests")]
mod runner;
pub(crate) mod serve;
#[cfg(feature = "system-tests")]
mod servers;
pub(crate) mod service;
pub(crate) mod stand_in;
mod store;
mod table;
mod templates;
mod tenants;
mod tls;
mod trust;
mod uploads;
mod webhook;

use serde_json::{Value, json};

use service::Host;

/// A creation without an image as yet.
fn creation(name: &str) -> Value {
    json!({
        "name": name,
        "source": "internal_container",
        "source_config": {},
        "source_revision_config": {},
        "secrets": [],
    })
}

/// Makes a deployment; its id.
fn created(host: &Host, name: &str) -> String {
    let deployment = host.expect(201, "POST", "/v2/deployments", Some(&creation(name)));
    deployment["id"].as_str().unwrap().to_owned()
}

/// An image that is nowhere looked for, as there is no registry.
pub(crate) fn image(digit: char) -> String {
    format!("registry.example/app@sha256:{}", digit.to_string().repeat(64))
}

/// Deploys an image; the revision's path.
fn deployed(host: &Host, deployment: &str, image: &str) -> String {
    let patch = json!({ "source_revision_config": { "image_uri": image } });
    let path = format!("/v2/deployments/{deployment}");
    let patched = host.expect(200, "PATCH", &path, Some(&patch));
    format!("{path}/revisions/{}", patched["latest_revision_id"].as_str().unwrap())
}

/// The first of what is wrong with a request: where, and the word for it.
fn wrong(answer: &Value) -> (Vec<&str>, &str) {
    let detail = &answer["detail"][0];
    assert!(detail["msg"].is_string(), "{answer}");
    let loc = detail["loc"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
    (loc, detail["type"].as_str().unwrap())
}

/// The messages of a log.
fn messages(log: &Value) -> Vec<&str> {
    log["logs"].as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap()).collect()
}
