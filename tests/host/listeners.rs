//! Listeners, agents and tracked packages.

use agentcli::api::Vocabulary;
use serde_json::{Value, json};

use super::service::Host;
use super::{creation, image, wrong};

const ID: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// A service of the public dialect with one listener.
fn host() -> Host {
    let listener = json!({ "id": ID, "compute_type": "k8s", "compute_id": "alpha", "version": "1",
        "compute_config": { "cluster_namespaces": ["one", "two"] } });
    Host::start(|options| {
        options.is_self_hosted = true;
        options.vocabulary = Vocabulary::Public;
        options.listeners = vec![serde_json::from_value(listener).unwrap()];
    })
}

#[test]
fn listeners_are_listed_and_found() {
    let host = host();
    let record = json!({ "id": ID, "compute_type": "k8s", "compute_id": "alpha", "version": "1",
        "compute_config": { "k8s_namespaces": ["one", "two"] } });
    assert_eq!(host.expect(200, "GET", &format!("/v2/listeners/{ID}"), None), record);
    let list = host.expect(200, "GET", "/v2/listeners", None);
    assert_eq!(list, json!({ "resources": [record], "offset": 1 }));
    let behind = host.expect(200, "GET", "/v2/listeners?limit=100&offset=1", None);
    assert_eq!(behind, json!({ "resources": [], "offset": 1 }));
    let missing = host.expect(404, "GET", &format!("/v2/listeners/{OTHER}"), None);
    assert_eq!(missing, json!({ "detail": format!("Listener ID {OTHER} not found.") }));
    assert_eq!(
        wrong(&host.expect(422, "GET", "/v2/listeners/x", None)),
        (vec!["path", "listener_id"], "uuid_parsing")
    );
    assert_eq!(wrong(&host.expect(422, "GET", "/v2/listeners?limit=0", None)).0, ["query", "limit"]);
}

#[test]
fn a_new_deployment_names_a_listener_and_its_namespace() {
    let host = host();
    let body = |config: Value| {
        json!({ "name": "x", "source": "external_docker", "source_config": config,
            "source_revision_config": { "image_uri": image('a') }, "secrets": [] })
    };
    for (config, detail) in [
        (json!({}), "'source_config.listener_id' is required for source 'external_docker'.".to_owned()),
        (json!({ "listener_id": OTHER }), format!("Listener ID {OTHER} not found.")),
        (
            json!({ "listener_id": ID, "listener_config": { "k8s_namespace": "three" } }),
            "source_config.listener_config.k8s_namespace must be a namespace of the listener.".to_owned(),
        ),
        (
            json!({ "listener_id": ID }),
            "source_config.listener_config.k8s_namespace must be a namespace of the listener.".to_owned(),
        ),
    ] {
        let answer = host.expect(400, "POST", "/v2/deployments", Some(&body(config)));
        assert_eq!(answer, json!({ "detail": detail }));
    }
    let config =
        json!({ "resource_spec": {}, "listener_id": ID, "listener_config": { "k8s_namespace": "two" } });
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body(config)));
    assert_eq!(made["source_config"]["listener_config"], json!({ "k8s_namespace": "two" }));
    assert!(made["latest_revision_id"].is_string(), "{made}");
}

#[test]
fn an_agent_has_one_deployment_in_each_environment() {
    let host = Host::start(|_| {});
    let body = |environment: &str| {
        let mut body = creation("x");
        body.as_object_mut().unwrap().remove("name");
        body["agent"] = json!({ "agent_id": "sales", "environment": environment });
        body
    };
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body("staging")));
    assert_eq!(made["agent"], json!({ "agent_id": "sales", "environment": "staging" }));
    assert_eq!(made["name"], json!(format!("agent-{}", made["id"].as_str().unwrap())));
    let taken = host.expect(409, "POST", "/v2/deployments", Some(&body("staging")));
    assert!(
        taken["detail"].as_str().unwrap().contains("already has a deployment in this environment"),
        "{taken}"
    );
    host.expect(201, "POST", "/v2/deployments", Some(&body("production")));
    let count = |query: &str| {
        let list = host.expect(200, "GET", &format!("/v2/deployments?{query}"), None);
        list["resources"].as_array().unwrap().len()
    };
    for (query, expected) in [
        ("agent_id=sales", 2),
        ("agent_environment=staging", 1),
        ("agent_id=sales&agent_environment=production", 1),
        ("agent_id=sales&agent_environment=development", 0),
        ("agent_id=other", 0),
    ] {
        assert_eq!(count(query), expected, "{query}");
    }
    let answer = host.expect(422, "GET", "/v2/deployments?agent_environment=moon", None);
    assert_eq!(wrong(&answer), (vec!["query", "agent_environment"], "literal_error"));
    let answer = host.expect(422, "POST", "/v2/deployments", Some(&body("moon")));
    assert_eq!(wrong(&answer), (vec!["body", "agent", "environment"], "literal_error"));
    let mut both = body("development");
    both["name"] = json!("x");
    host.expect(400, "POST", "/v2/deployments", Some(&both));
    let mut neither = body("development");
    neither.as_object_mut().unwrap().remove("agent");
    let answer = host.expect(422, "POST", "/v2/deployments", Some(&neither));
    assert_eq!(wrong(&answer), (vec!["body", "name"], "missing"));
}

#[test]
fn tracked_packages_are_kept() {
    let host = Host::start(|_| {});
    let made = host.expect(201, "POST", "/v2/deployments", Some(&creation("x")));
    assert!(made.get("tracked_packages").is_none(), "{made}");
    let path = format!("/v2/deployments/{}", made["id"].as_str().unwrap());
    let packages = json!(["google-adk:1.9.0"]);
    let patch = json!({ "tracked_packages": packages });
    assert_eq!(host.expect(200, "PATCH", &path, Some(&patch))["tracked_packages"], packages);
    assert_eq!(host.expect(200, "PATCH", &path, Some(&json!({})))["tracked_packages"], packages);
    let answer = host.expect(422, "PATCH", &path, Some(&json!({ "tracked_packages": "google-adk" })));
    assert_eq!(wrong(&answer).0, ["body", "tracked_packages"]);
}
