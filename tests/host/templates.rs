//! Templates: the source `internal_template`.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::service::Host;

fn creation(name: &str, path: &str) -> Value {
    json!({
        "name": name,
        "source": "internal_template",
        "source_config": {},
        "source_revision_config": { "graph_config_path": path },
        "secrets": [],
    })
}

fn templates() -> TempDir {
    let templates = TempDir::new().unwrap();
    for name in ["hello", "research"] {
        fs::create_dir_all(templates.path().join(name).join("app")).unwrap();
        fs::write(templates.path().join(name).join("app/agent.json"), "{}").unwrap();
    }
    fs::write(templates.path().join("agent.json"), "{}").unwrap();
    templates
}

#[test]
fn template_is_named_by_the_path_of_its_configuration() {
    let templates = templates();
    let host = Host::start(|options| options.templates = Some(templates.path().to_owned()));
    let made = host.expect(201, "POST", "/v2/deployments", Some(&creation("app", "hello/app/agent.json")));
    let path = format!("/v2/deployments/{}", made["id"].as_str().unwrap());
    let latest =
        |record: &Value| format!("{path}/revisions/{}", record["latest_revision_id"].as_str().unwrap());
    host.until(&latest(&made), |revision| revision["status"] == "DEPLOYED");
    let patch = json!({ "source_revision_config": { "graph_config_path": "research/app/agent.json" } });
    let patched = host.expect(200, "PATCH", &path, Some(&patch));
    let revision = host.until(&latest(&patched), |revision| revision["status"] == "DEPLOYED");
    assert_eq!(revision["source"], "internal_template");
    assert_eq!(revision["source_revision_config"], patch["source_revision_config"]);

    for path in [
        "none/app/agent.json",
        "hello",
        "hello/none.json",
        "agent.json",
        "hello/../agent.json",
        "../hello/app/agent.json",
        "/etc/passwd",
        "",
    ] {
        let refused = host.expect(400, "POST", "/v2/deployments", Some(&creation("other", path)));
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("hello, research") || path.is_empty(), "{path}: {detail}");
    }
}

#[test]
fn template_that_was_removed_fails_the_build() {
    let templates = templates();
    let host = Host::start(|options| options.templates = Some(templates.path().to_owned()));
    let made = host.expect(201, "POST", "/v2/deployments", Some(&creation("app", "hello/app/agent.json")));
    let path = format!("/v2/deployments/{}", made["id"].as_str().unwrap());
    host.until(&path, |record| !record["active_revision_id"].is_null());
    fs::remove_dir_all(templates.path().join("hello")).unwrap();
    let patched = host.expect(200, "PATCH", &path, Some(&json!({ "secrets": [] })));
    let path = format!("{path}/revisions/{}", patched["latest_revision_id"].as_str().unwrap());
    let revision = host.until(&path, |revision| revision["status"] == "BUILD_FAILED");
    let reason = revision["reason"].as_str().unwrap();
    assert!(reason.contains("the template of hello/app/agent.json is not there any more"), "{reason}");
}

#[test]
fn services_without_templates_and_self_hosted_ones_refuse_them() {
    let host = Host::start(|_| {});
    let refused = host.expect(400, "POST", "/v2/deployments", Some(&creation("app", "hello/agent.json")));
    assert!(refused["detail"].as_str().unwrap().contains("--templates"), "{refused}");
    let templates = templates();
    let host = Host::start(|options| {
        options.is_self_hosted = true;
        options.templates = Some(templates.path().to_owned());
    });
    let refused = host.expect(400, "POST", "/v2/deployments", Some(&creation("app", "hello/app/agent.json")));
    assert!(refused["detail"].as_str().unwrap().contains("cloud-hosted"), "{refused}");
}
