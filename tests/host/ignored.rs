//! Fields that one machine keeps and ignores.

use serde_json::json;

use super::service::Host;
use super::{creation, deployed, image, messages};

#[test]
fn ignored_fields_are_kept_and_reported_once_per_revision() {
    let host = Host::start(|_| {});
    let mut body = creation("app");
    body["source_config"]["resource_spec"] = json!({
        "cpu": 1.0,
        "max_scale": 2,
        "queue_cpu": 2.0,
        "sidecars": [{ "name": "log", "image": "log:1" }],
        "volumes": [],
    });
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    assert_eq!(made["source_config"]["resource_spec"], body["source_config"]["resource_spec"]);
    let id = made["id"].as_str().unwrap();
    for digit in ['1', '2'] {
        let revision = deployed(&host, id, &image(digit));
        host.until(&revision, |it| it["status"] == "DEPLOYED");
        let log = host.expect(200, "GET", &format!("{revision}/logs?level=WARNING&query=ignoring"), None);
        assert_eq!(
            messages(&log),
            ["ignoring fields that need a cluster: source_config.resource_spec.queue_cpu, \
                 source_config.resource_spec.sidecars; `agentcli manifests` writes Kubernetes manifests with them"]
        );
    }
}

#[test]
fn used_fields_are_not_reported() {
    let host = Host::start(|_| {});
    let mut body = creation("app");
    body["source_config"]["resource_spec"] = json!({
        "min_scale": 1,
        "max_scale": 1,
        "cpu": 1.0,
        "cpu_limit": 1.0,
        "memory_mb": 64,
        "memory_limit_mb": 64,
    });
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    let revision = deployed(&host, made["id"].as_str().unwrap(), &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let log = host.expect(200, "GET", &format!("{revision}/logs?query=ignoring"), None);
    assert!(messages(&log).is_empty(), "{log}");
}
