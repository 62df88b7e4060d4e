//! Keys of tenants, and secrets. `host::matrix` asks each route with each key.

use std::path::Path;

use agentcli_host::Store;
use serde_json::{Value, json};

use super::service::{Host, KEY};
use super::{created, image};
use crate::harness::TestEnv;

pub(super) const OTHER: &str = "key-of-another-tenant-0123456789";

fn with_two_tenants() -> Host {
    Host::start(|options| {
        let store = Store::attach(&options.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", OTHER)).unwrap();
    })
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

/// The values that are searched for.
const HIDDEN: [&str; 2] = ["plainly-hidden", KEY];

/// Fails if a file below a directory has one of the hidden values; the number of files.
fn search(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut searched = 0;
    for path in entries {
        if path.is_dir() {
            searched += search(&path);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for hidden in HIDDEN {
            let found = bytes.windows(hidden.len()).any(|part| part == hidden.as_bytes());
            assert!(!found, "{hidden} is in {}", path.display());
        }
        searched += 1;
    }
    searched
}

#[test]
fn secrets_are_nowhere_in_clear() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let patch = json!({
        "source_revision_config": { "image_uri": image('1') },
        "secrets": [{ "name": "TOKEN", "value": HIDDEN[0] }],
    });
    let mut answers = vec![host.expect(200, "PATCH", &path, Some(&patch))];
    let revision = format!("{path}/revisions/{}", answers[0]["latest_revision_id"].as_str().unwrap());
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    answers.push(host.expect(200, "GET", "/v2/deployments", None)["resources"][0].clone());
    // A patch without secrets keeps them, and one with a new name alone is refused.
    answers.push(host.expect(200, "PATCH", &path, Some(&json!({}))));
    answers.push(host.expect(200, "POST", &format!("{revision}/redeploy"), None));
    for answer in &answers {
        assert_eq!(answer["secrets"], json!([{ "name": "TOKEN" }]));
    }
    let names = json!({ "secrets": [{ "name": "OTHER" }] });
    assert_eq!(host.expect(422, "PATCH", &path, Some(&names))["detail"][0]["type"], Value::from("missing"));
    // Errors repeat no values, wherever they are in a body.
    for wrong in [
        json!({ "secrets": [{ "name": HIDDEN[0], "value": 1 }] }),
        json!({ "secrets": [{ "name": "A", "value": [HIDDEN[0]] }] }),
        json!({ "secrets": HIDDEN[0] }),
        json!({ "revision_source": HIDDEN[0] }),
    ] {
        let answer = host.ask("PATCH", &path, Some(&wrong));
        assert_eq!(answer.status, 422, "{}", answer.text);
        answers.push(answer.text.into());
    }
    for tail in ["/revisions", "/manifests"] {
        answers.push(host.ask("GET", &format!("{path}{tail}"), None).text.into());
    }
    for kind in ["deploy", "build"] {
        answers.push(host.expect(200, "GET", &format!("{revision}/logs?type={kind}"), None));
    }
    for (answer, hidden) in answers.iter().flat_map(|answer| HIDDEN.map(|hidden| (answer, hidden))) {
        assert!(!answer.to_string().contains(hidden), "{hidden} is in {answer}");
    }
    let searched = search(host.data());
    assert!(searched >= 3, "{searched} files");
    host.expect(204, "DELETE", &path, None);
    search(host.data());
}
