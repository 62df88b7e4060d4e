//! Quotas of tenants.

use agentcli_host::Store;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::service::{Answer, Host};
use super::{created, creation};
use crate::harness::TestEnv;

const OTHER: &str = "key-of-another-tenant-0123456789";

/// Fails unless the request was refused for this quota; what `needs` says of it.
fn refused(answer: &Answer, quota: &str, needs: &str) {
    assert_eq!(answer.status, 403, "{}", answer.text);
    let text = answer.json["detail"].as_str().or(answer.json["errors"][0]["message"].as_str()).unwrap();
    assert!(text.starts_with(&format!("The quota '{quota}' of this tenant is {needs};")), "{text}");
    assert!(
        text.contains("the operator of the host can raise it with `agentcli host tenants set`"),
        "{text}"
    );
}

#[test]
fn each_quota_is_kept_per_tenant_and_can_be_set() {
    let host = Host::start(|options| {
        let store = Store::attach(&options.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", OTHER)).unwrap();
    });
    let id = created(&host, "app");
    let path = format!("/v2/deployments/{id}");
    let create = |key: &str, name: &str| {
        let body = Some(("application/json", creation(name).to_string().into_bytes()));
        host.send("POST", "/v2/deployments", &[("X-Api-Key", key)], body).unwrap()
    };
    host.set_quotas("deployments=1");
    refused(&create(super::service::KEY, "second"), "deployments", "1, and this needs 2");
    assert_eq!(create(OTHER, "second").status, 201);

    let scale = |most: u32| json!({ "source_config": { "resource_spec": { "max_scale": most } } });
    host.set_quotas("replicas=2");
    refused(&host.ask("PATCH", &path, Some(&scale(3))), "replicas", "2, and this needs 3");
    host.expect(200, "PATCH", &path, Some(&scale(2)));
    // A lower quota prevents only what needs more.
    host.set_quotas("replicas=1");
    host.expect(200, "PATCH", &path, Some(&json!({ "secrets": [] })));
    host.expect(200, "PATCH", &path, Some(&scale(1)));

    host.set_quotas("uploads=1 upload-bytes=10");
    let url = format!("{path}/upload-url");
    let place = host.expect(200, "POST", &url, Some(&json!({})));
    refused(&host.ask("POST", &url, Some(&json!({}))), "uploads", "1, and this needs 2");
    let place = place["upload_url"].as_str().unwrap();
    let put = |size: usize| host.send("PUT", place, &[], Some(("application/gzip", vec![0; size]))).unwrap();
    refused(&put(11), "upload-bytes", "10, and this needs 11");
    assert_eq!((put(10).status, put(9).status, put(10).status), (200, 200, 200));

    host.set_quotas("image-bytes=10");
    let push = |content: &[u8]| {
        let token = host.expect(200, "POST", &format!("{path}/push-token"), Some(&json!({})));
        let login = STANDARD.encode(format!("token:{}", token["token"].as_str().unwrap()));
        let digest = hex::encode(Sha256::digest(content));
        let path = format!("/v2/images/app/blobs/uploads/?digest=sha256:{digest}");
        let body = Some(("application/octet-stream", content.to_vec()));
        host.send("POST", &path, &[("Authorization", &format!("Basic {login}"))], body).unwrap()
    };
    assert_eq!(push(b"1234567890").status, 201);
    let denied = push(b"x");
    refused(&denied, "image-bytes", "10, and this needs 11");
    assert_eq!(denied.json["errors"][0]["code"], Value::from("DENIED"));

    let list = TestEnv::inside(host.data()).run("host tenants list --data .").out;
    for line in [
        "default  deployments  1 of 1",
        "default  replicas  1 of 1",
        "default  uploads  1 of 1",
        "default  upload-bytes  10 of 10",
        "default  image-bytes  10 of 10",
        "others  deployments  1 of 200",
    ] {
        assert!(list.lines().any(|it| it == line), "{line}: {list}");
    }
    host.set_quotas("deployments=default replicas=default image-bytes=default");
    assert_eq!(create(super::service::KEY, "third").status, 201);
    let env = TestEnv::inside(host.data());
    for (arguments, expected) in [
        ("nobody replicas=1", "there is no tenant `nobody`"),
        ("default disks=1", "the quotas are deployments, replicas"),
        ("default replicas=many", "`many` is neither a number nor `default`"),
    ] {
        let run = env.run(&format!("host tenants set {arguments} --data ."));
        assert!(run.code == 2 && run.err.contains(expected), "{}", run.err);
    }
}
