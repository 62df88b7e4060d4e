//! The deployment service, asked over HTTP.

mod deployments;
pub(crate) mod service;

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
fn image(digit: char) -> String {
    format!("registry.example/app@sha256:{}", digit.to_string().repeat(64))
}
