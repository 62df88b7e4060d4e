//! Deployments: made, listed, read, deleted.

use serde_json::{Value, json};

use super::service::Host;
use super::{created, creation, image};

#[test]
fn a_deployment_comes_and_goes() {
    let host = Host::start(|_| {});
    let id = created(&host, "first");
    let path = format!("/v2/deployments/{id}");
    let deployment = host.until(&path, |it| it["status"] == "READY");
    assert_eq!(deployment["name"], "first");
    assert_eq!(deployment["latest_revision_id"], Value::Null);
    let twice = host.expect(409, "POST", "/v2/deployments", Some(&creation("first")));
    assert_eq!(twice, json!({ "detail": "A deployment named 'first' already exists." }));
    assert_eq!(host.expect(200, "GET", "/v2/deployments", None)["resources"][0]["id"], json!(id));
    assert_eq!(host.ask("DELETE", &path, None).status, 204);
    for method in ["GET", "DELETE"] {
        let gone = host.expect(404, method, &path, None);
        assert_eq!(gone, json!({ "detail": format!("Deployment ID {id} not found.") }));
    }
}

#[test]
fn an_image_is_deployed() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let patch = json!({
        "revision_source": "internal_container",
        "source_revision_config": { "image_uri": image('1') },
        "secrets": [{ "name": "TOKEN", "value": "hidden" }],
    });
    let patched = host.expect(200, "PATCH", &path, Some(&patch));
    let revision = patched["latest_revision_id"].as_str().unwrap();
    assert_eq!(patched["source_revision_config"], json!({ "image_uri": image('1') }));
    assert_eq!(patched["secrets"], json!([{ "name": "TOKEN" }]), "values are never returned");
    let revision = host.until(&format!("{path}/revisions/{revision}"), |it| it["status"] == "DEPLOYED");
    assert_eq!(revision["source"], "internal_container");
    let deployed = host.expect(200, "GET", &path, None);
    assert_eq!(deployed["active_revision_id"], revision["id"]);
    assert_eq!(deployed["image_version"], "1.0", "as the stand-in's servers say");
    for (version, count) in [("1.0", 1), ("1", 0)] {
        let list = host.expect(200, "GET", &format!("/v2/deployments?image_version={version}"), None);
        assert_eq!(list["resources"].as_array().unwrap().len(), count, "{version}");
    }
}
