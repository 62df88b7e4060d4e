//! Keys and tenants: nobody sees or changes what belongs to others.

use agentcli_host::{ROUTES, Store};
use serde_json::{Value, json};

use super::service::{Host, KEY};
use super::{created, deployed, image};
use crate::harness::TestEnv;

const OTHER: &str = "key-of-another-tenant-0123456789";

fn with_two_tenants() -> Host {
    Host::start(|options| {
        let store = Store::attach(&options.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", OTHER)).unwrap();
    })
}

#[test]
fn what_belongs_to_others_does_not_exist() {
    let host = with_two_tenants();
    let id = created(&host, "app");
    let revision = deployed(&host, &id, &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let before = host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
    let revision = revision.rsplit('/').next().unwrap();
    let mut tried = 0;
    for route in ROUTES
        .iter()
        .filter(|route| route.path.contains("deployment_id") || route.path.contains("project_id"))
    {
        let path = route.path.replace("{deployment_id}", &id).replace("{project_id}", &id);
        let path = path.replace("{revision_id}", revision);
        let body = (route.method != "GET").then(|| ("application/json", b"{}".to_vec()));
        let answer = host.send(route.method, &path, &[("X-Api-Key", OTHER)], body).unwrap();
        assert_eq!(answer.status, 404, "{} {path}: {}", route.method, answer.text);
        assert_eq!(answer.json["detail"], format!("Deployment ID {id} not found."));
        tried += 1;
    }
    assert!(tried >= 10, "{tried} routes");
    let list = host.send("GET", "/v2/deployments", &[("X-Api-Key", OTHER)], None).unwrap();
    assert_eq!(list.json, json!({ "resources": [], "offset": 0 }));
    let by_id = format!("/v2/deployments?deployment_ids={id}");
    let list = host.send("GET", &by_id, &[("X-Api-Key", OTHER)], None).unwrap();
    assert_eq!(list.json["resources"], json!([]));
    assert_eq!(host.expect(200, "GET", &format!("/v2/deployments/{id}"), None), before);
}

#[test]
fn keys_are_listed_and_revoked() {
    let host = with_two_tenants();
    let env = TestEnv::inside(host.data());
    let run = |arguments: &str| env.run(&format!("host keys {arguments} --data ."));
    let key = run("create --tenant others").out;
    let ask = |key: &str| host.send("GET", "/v2/deployments", &[("X-Api-Key", key)], None).unwrap().status;
    assert_eq!((key.trim().len(), ask(key.trim())), (64, 200));
    let listed = run("list").out;
    let tenants: Vec<&str> = listed.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
    assert_eq!(tenants.len(), 3, "{listed}");
    assert!(!listed.contains(key.trim()) && !listed.contains(KEY), "{listed}");
    let newest = listed.lines().last().unwrap().split_whitespace().next().unwrap();
    assert_eq!(run(&format!("revoke {newest}")).code, 0);
    assert_eq!((ask(key.trim()), ask(KEY), ask(OTHER)), (401, 200, 200));
    let again = run(&format!("revoke {newest}"));
    assert_eq!(again.code, 2);
    assert!(again.err.contains(&format!("there is no key with the ID `{newest}`")), "{}", again.err);
}

#[test]
fn secrets_are_nowhere_in_clear() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let patch = json!({
        "source_revision_config": { "image_uri": image('1') },
        "secrets": [{ "name": "TOKEN", "value": "plainly-hidden" }],
    });
    let patched = host.ask("PATCH", &path, Some(&patch));
    assert_eq!(patched.status, 200, "{}", patched.text);
    for answer in [&patched.json, &host.expect(200, "GET", "/v2/deployments", None)["resources"][0]] {
        assert_eq!(answer["secrets"], json!([{ "name": "TOKEN" }]));
    }
    // A patch without secrets keeps them, and one of them with the names alone is refused.
    assert_eq!(host.expect(200, "PATCH", &path, Some(&json!({})))["secrets"], json!([{ "name": "TOKEN" }]));
    let names = json!({ "secrets": [{ "name": "TOKEN" }] });
    assert_eq!(host.expect(422, "PATCH", &path, Some(&names))["detail"][0]["type"], Value::from("missing"));
    let mut searched = 0;
    for entry in std::fs::read_dir(host.data()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            for hidden in ["plainly-hidden", KEY] {
                let found = bytes.windows(hidden.len()).any(|part| part == hidden.as_bytes());
                assert!(!found, "{hidden} is in {}", entry.path().display());
            }
            searched += 1;
        }
    }
    assert!(searched >= 3, "{searched} files");
}
