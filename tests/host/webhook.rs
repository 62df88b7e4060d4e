//! Webhooks: pushes create revisions.

use agentcli_host::{Repositories, Webhook};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::service::{Answer, Host, KEY};

const INTEGRATION: &str = "7b0c1d2e-0000-4000-8000-000000000001";
pub(super) const SECRET: &str = "the secret of the agent repository";
const OTHER_SECRET: &str = "the secret of another repository";

fn repositories() -> Repositories {
    let record = |name: &str, secret: Option<&str>| {
        let mut record = json!({
            "host_integration_id": INTEGRATION, "id": 1, "name": name, "owner": "acme",
            "url": format!("https://codehost.example/acme/{name}"), "default_branch": "main",
        });
        if let Some(secret) = secret {
            record["webhook_secret"] = secret.into();
        }
        serde_json::from_value(record).unwrap()
    };
    let records =
        vec![record("agent", Some(SECRET)), record("other", Some(OTHER_SECRET)), record("silent", None)];
    Repositories::new(records).unwrap()
}

fn host() -> Host {
    Host::start(|options| {
        options.repositories = repositories();
        options.webhooks = Webhook::take(&mut options.repositories).unwrap();
    })
}

/// Makes a deployment of a branch; its path.
fn deployed(host: &Host, name: &str, repository: &str, branch: &str, build_on_push: bool) -> String {
    let creation = json!({
        "name": name,
        "source": "codehost",
        "source_config": {
            "integration_id": INTEGRATION,
            "repo_url": format!("https://codehost.example/acme/{repository}"),
            "build_on_push": build_on_push,
        },
        "source_revision_config": { "repo_ref": branch, "graph_config_path": "agent.json" },
        "secrets": [{ "name": "KEY", "value": "kept" }],
    });
    let made = host.expect(201, "POST", "/v2/deployments", Some(&creation));
    format!("/v2/deployments/{}", made["id"].as_str().unwrap())
}

/// Number of revisions, and the commit of the newest.
fn revisions(host: &Host, deployment: &str) -> (usize, Value) {
    let list = host.expect(200, "GET", &format!("{deployment}/revisions"), None);
    let list = list["resources"].as_array().unwrap();
    (list.len(), list[0]["source_revision_config"]["repo_commit_sha"].clone())
}

fn commit(digit: char) -> String {
    digit.to_string().repeat(40)
}

fn push(branch: &str, digit: char) -> Value {
    json!({
        "ref": format!("refs/heads/{branch}"),
        "before": commit('0'),
        "after": commit(digit),
        "repository": { "clone_url": "https://codehost.example/acme/agent.git" },
    })
}

/// The HMAC with SHA-256, in hexadecimal digits.
pub(super) fn hmac(secret: &str, body: &[u8]) -> String {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        block.iter_mut().zip(secret.bytes()).for_each(|(pad, key)| *pad ^= key);
        block
    };
    let inner = Sha256::new_with_prefix(pad(0x36)).chain_update(body).finalize();
    let outer = Sha256::new_with_prefix(pad(0x5c)).chain_update(inner).finalize();
    hex::encode(outer)
}

fn send(host: &Host, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let path = format!("/v1/integrations/{INTEGRATION}/webhook");
    host.send("POST", &path, headers, Some(("application/json", body.to_vec()))).unwrap()
}

/// Delivers as GitHub does; the number of new revisions.
fn deliver(host: &Host, event: &str, delivery: &str, payload: &Value) -> Value {
    let body = payload.to_string().into_bytes();
    let signature = format!("sha256={}", hmac(SECRET, &body));
    let headers =
        [("X-GitHub-Event", event), ("X-GitHub-Delivery", delivery), ("X-Hub-Signature-256", &*signature)];
    let answer = send(host, &headers, &body);
    assert_eq!(answer.status, 200, "{payload}: {}", answer.text);
    answer.json["revisions"].clone()
}

#[test]
fn push_creates_revisions_of_its_branch() {
    let host = host();
    let first = deployed(&host, "first", "agent", "main", true);
    let full = deployed(&host, "full", "agent", "refs/heads/main", true);
    let others = [
        deployed(&host, "manual", "agent", "main", false),
        deployed(&host, "branch", "agent", "next", true),
        deployed(&host, "other", "other", "main", true),
    ];
    assert_eq!(deliver(&host, "push", "1", &push("main", 'a')), 2);
    for path in [&first, &full] {
        assert_eq!(revisions(&host, path), (2, json!(commit('a'))));
        let deployment = host.expect(200, "GET", path, None);
        assert_eq!(deployment["source_revision_config"]["repo_commit_sha"], commit('a'));
        assert_eq!(deployment["secrets"][0]["name"], "KEY");
        let path = format!("{path}/revisions/{}", deployment["latest_revision_id"].as_str().unwrap());
        host.until(&path, |revision| revision["status"] == "DEPLOYED");
    }
    for path in &others {
        assert_eq!(revisions(&host, path), (1, Value::Null));
    }
    // Another revision of the branch is built from its newest commit.
    host.expect(200, "PATCH", &first, Some(&json!({ "secrets": [] })));
    assert_eq!(revisions(&host, &first), (3, Value::Null));
    host.expect(204, "DELETE", &full, None);
    assert_eq!(deliver(&host, "push", "2", &push("main", 'b')), 1);
}

#[test]
fn repeated_deliveries_and_commits_create_nothing() {
    let host = host();
    let path = deployed(&host, "app", "agent", "main", true);
    let older = push("main", 'a');
    assert_eq!(deliver(&host, "push", "1", &older), 1);
    assert_eq!(deliver(&host, "push", "1", &older), 0);
    let mut again = older.clone();
    again["pushed_at"] = 1.into();
    assert_eq!(deliver(&host, "push", "2", &again), 0);
    assert_eq!(deliver(&host, "push", "3", &push("main", 'b')), 1);
    // The same ID, and the same signed body.
    assert_eq!(deliver(&host, "push", "3", &push("main", 'c')), 0);
    assert_eq!(deliver(&host, "push", "4", &older), 0);
    assert_eq!(revisions(&host, &path), (3, json!(commit('b'))));
    // Back to the first commit.
    again["pushed_at"] = 2.into();
    assert_eq!(deliver(&host, "push", "5", &again), 1);
}

#[test]
fn other_events_are_ignored() {
    let host = host();
    let path = deployed(&host, "app", "agent", "main", true);
    let with = |field: &str, value: Value| {
        let mut push = push("main", 'a');
        push[field] = value;
        push
    };
    for (event, payload) in [
        ("ping", json!({ "zen": "x" })),
        ("pull_request", push("main", 'a')),
        ("push", push("next", 'a')),
        ("push", push("main", '0')),
        ("push", with("ref", "refs/tags/main".into())),
        ("push", with("repository", json!({ "clone_url": "https://codehost.example/acme/other.git" }))),
        ("push", with("repository", json!({}))),
    ] {
        assert_eq!(deliver(&host, event, &payload.to_string(), &payload), 0, "{event} {payload}");
    }
    assert_eq!(revisions(&host, &path), (1, Value::Null));
    assert_eq!(deliver(&host, "push", "real", &push("main", 'a')), 1);
}

#[test]
fn webhooks_that_prove_nothing_are_refused_without_a_reason() {
    let host = host();
    let path = deployed(&host, "app", "agent", "main", true);
    let body = push("main", 'a').to_string().into_bytes();
    let signed = |secret: &str, body: &[u8]| format!("sha256={}", hmac(secret, body));
    let refused = |answer: Answer| {
        assert_eq!((answer.status, &*answer.text), (403, r#"{"detail":"The webhook is not valid."}"#));
    };
    for signature in [
        &signed("the secret of somebody else", &body),
        &signed(SECRET, b"{}"),
        &signed("", &body),
        &signed(SECRET, &body)[..70],
        &hmac(SECRET, &body),
        "sha256=",
        "sha256=+f",
        "sha1=0000",
    ] {
        refused(send(&host, &[("X-GitHub-Event", "push"), ("X-Hub-Signature-256", signature)], &body));
    }
    refused(send(&host, &[("X-GitHub-Event", "push"), ("X-Api-Key", KEY)], &body));
    for token in ["", "x", OTHER_SECRET.strip_suffix('y').unwrap()] {
        refused(send(&host, &[("X-Gitlab-Event", "Push Hook"), ("X-Gitlab-Token", token)], &body));
    }
    let signature = signed(SECRET, &body);
    let headers = [("X-GitHub-Event", "push"), ("X-Hub-Signature-256", &*signature)];
    let elsewhere = format!("/v1/integrations/{}/webhook", INTEGRATION.replace('7', "8"));
    refused(host.send("POST", &elsewhere, &headers, Some(("application/json", body.clone()))).unwrap());
    // The secret of one repository is not good for another.
    let signature = signed(OTHER_SECRET, &body);
    let answer = send(&host, &[("X-GitHub-Event", "push"), ("X-Hub-Signature-256", &*signature)], &body);
    assert_eq!((answer.status, &answer.json["revisions"]), (200, &json!(0)));
    assert_eq!(send(&host, &headers, &vec![b' '; 5 << 20]).status, 413);
    let form = b"payload=%7B%7D";
    let signature = signed(SECRET, form);
    let answer = send(&host, &[("X-GitHub-Event", "push"), ("X-Hub-Signature-256", &*signature)], form);
    assert!(answer.status == 400 && answer.text.contains("application/json"), "{}", answer.text);
    assert_eq!(revisions(&host, &path), (1, Value::Null));
}

#[test]
fn gitlab_pushes_are_received() {
    let host = host();
    let path = deployed(&host, "app", "agent", "main", true);
    let payload = json!({
        "object_kind": "push", "ref": "refs/heads/main", "before": commit('0'), "after": commit('a'),
        "project": { "git_http_url": "https://codehost.example/acme/agent.git" },
        "repository": { "git_http_url": "https://codehost.example/acme/agent.git" },
    });
    let body = payload.to_string().into_bytes();
    let headers = [("X-Gitlab-Event", "Push Hook"), ("X-Gitlab-Token", SECRET), ("Idempotency-Key", "one")];
    for expected in [1, 0] {
        let answer = send(&host, &headers, &body);
        assert_eq!((answer.status, &answer.json["revisions"]), (200, &json!(expected)), "{}", answer.text);
    }
    assert_eq!(revisions(&host, &path), (2, json!(commit('a'))));
}

#[test]
fn secrets_are_not_returned() {
    let host = host();
    let path = format!("/v1/integrations/forge/codehost/{INTEGRATION}/repos");
    let answer = host.ask("GET", &path, None);
    assert_eq!((answer.status, answer.json.as_array().map(Vec::len)), (200, Some(3)));
    assert!(!answer.text.contains("secret"), "{}", answer.text);
}
