//! Every operation of the description × every key × own, foreign and unknown IDs.

use agentcli::api::Vocabulary;
use agentcli_host::{Store, openapi};
use serde_json::Value;

use super::description::operations;
use super::service::{Answer, Host, KEY};
use super::{created, creation, deployed, image};

/// Routes that say the same to everybody.
const OPEN: &[&str] = &["/healthz", "/openapi.json"];

const OTHER: &str = "key-of-another-tenant-0123456789";
const UNKNOWN: &str = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001";

/// A deployment and its revision.
struct Owned {
    deployment: String,
    revision: String,
}

/// A service with a deployed deployment of each of two tenants.
fn two_tenants() -> (Host, Owned, Owned) {
    let host = Host::start(|options| {
        let store = Store::attach(&options.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", OTHER)).unwrap();
    });
    let deployment = created(&host, "own");
    let revision = deployed(&host, &deployment, &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let own = Owned { deployment, revision: revision.rsplit('/').next().unwrap().to_owned() };
    let mut foreign = creation("foreign");
    foreign["source_revision_config"]["image_uri"] = image('2').into();
    let body = Some(("application/json", foreign.to_string().into_bytes()));
    let made = host.send("POST", "/v2/deployments", &[("X-Api-Key", OTHER)], body).unwrap().json;
    let id = |field: &str| made[field].as_str().unwrap().to_owned();
    let foreign = Owned { deployment: id("id"), revision: id("latest_revision_id") };
    (host, own, foreign)
}

/// Asks an operation about a deployment and a revision, with a key or without.
fn ask(
    host: &Host,
    (method, path, operation): &(String, String, Value),
    key: Option<&str>,
    deployment: &str,
    revision: &str,
) -> Answer {
    let path = path.replace("{deployment_id}", deployment).replace("{project_id}", deployment);
    let path = path.replace("{revision_id}", revision);
    let path = ["{integration_id}", "{listener_id}", "{upload_id}"]
        .iter()
        .fold(path, |path, name| path.replace(name, UNKNOWN));
    assert!(!path.contains('{'), "{path}: which ID is that?");
    let headers: Vec<(&str, &str)> = key.map(|key| ("X-Api-Key", key)).into_iter().collect();
    let body = operation.get("requestBody").map(|_| ("application/json", b"{}".to_vec()));
    host.send(method, &path, &headers, body).unwrap()
}

#[test]
fn every_operation_with_every_key_and_id() {
    let (host, own, foreign) = two_tenants();
    let foreign_path = format!("/v2/deployments/{}", foreign.deployment);
    let read_foreign = || host.send("GET", &foreign_path, &[("X-Api-Key", OTHER)], None).unwrap().text;
    let revision_path = format!("{foreign_path}/revisions/{}", foreign.revision);
    let is_deployed = || {
        let answer = host.send("GET", &revision_path, &[("X-Api-Key", OTHER)], None).unwrap();
        answer.json["status"] == "DEPLOYED"
    };
    let deadline = std::time::Instant::now() + super::service::PATIENCE;
    while !is_deployed() {
        assert!(std::time::Instant::now() < deadline, "it is not deployed");
    }
    let before = read_foreign();
    let mut operations = operations(&openapi(Vocabulary::Specification));
    // The deletion of the own deployment is the last that is asked about it.
    operations.sort_by_key(|(method, ..)| method == "DELETE");
    let (mut closed, mut by_id) = (0, 0);
    for operation in &operations {
        let (method, path, described) = operation;
        let place = format!("{method} {path}");
        if described["security"] == serde_json::json!([]) {
            let status = ask(&host, operation, None, UNKNOWN, UNKNOWN).status;
            assert_eq!(status, if OPEN.contains(&path.as_str()) { 200 } else { 403 }, "{place}");
            continue;
        }
        let wrong = format!("{KEY}0");
        for key in [None, Some(""), Some(wrong.as_str())] {
            for id in [&own, &foreign] {
                let answer = ask(&host, operation, key, &id.deployment, &id.revision);
                assert_eq!(
                    (answer.status, &answer.json["detail"]),
                    (401, &"Invalid API key.".into()),
                    "{place}"
                );
            }
            assert_eq!(ask(&host, operation, key, UNKNOWN, UNKNOWN).status, 401, "{place}");
        }
        closed += 1;
        if path.contains("{deployment_id}") || path.contains("{project_id}") {
            // Each tenant is foreign to the other.
            for (key, theirs) in [(KEY, &foreign), (OTHER, &own)] {
                for (deployment, revision) in
                    [(theirs.deployment.as_str(), &*theirs.revision), (UNKNOWN, UNKNOWN)]
                {
                    let answer = ask(&host, operation, Some(key), deployment, revision);
                    assert_eq!(answer.status, 404, "{place}: {}", answer.text);
                    assert_eq!(answer.json["detail"], format!("Deployment ID {deployment} not found."));
                }
            }
            if path.contains("{revision_id}") {
                for revision in [&*foreign.revision, UNKNOWN] {
                    let answer = ask(&host, operation, Some(KEY), &own.deployment, revision);
                    assert_eq!(answer.status, 404, "{place}: {}", answer.text);
                    assert_eq!(answer.json["detail"], format!("Revision ID {revision} not found."));
                }
            }
            let answer = ask(&host, operation, Some(KEY), &own.deployment, &own.revision);
            assert!(matches!(answer.status, 200 | 204 | 400), "{place}: {} {}", answer.status, answer.text);
            by_id += 1;
        } else if path.contains('{') {
            assert_eq!(ask(&host, operation, Some(KEY), UNKNOWN, UNKNOWN).status, 404, "{place}");
        }
    }
    assert!(closed >= 19 && by_id >= 14, "{closed} operations with a key, {by_id} by ID");
    assert_eq!(read_foreign(), before);
}

#[test]
fn lists_have_what_is_ones_own() {
    let (host, own, foreign) = two_tenants();
    for filter in [String::new(), format!("?deployment_ids={},{}", own.deployment, foreign.deployment)] {
        for (key, owned) in [(KEY, &own), (OTHER, &foreign)] {
            let path = format!("/v2/deployments{filter}");
            let list = host.send("GET", &path, &[("X-Api-Key", key)], None).unwrap().json;
            let ids: Vec<&Value> = list["resources"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
            assert_eq!(ids, [&Value::from(owned.deployment.as_str())]);
        }
    }
}

/// Requests as a page of another site makes them, or one whose name was made to lead here.
const FOREIGN: [(&str, &str); 3] =
    [("Origin", "https://evil.example"), ("Origin", "null"), ("Host", "evil.example:8900")];

/// Everything that the API tells two tenants about what they have.
fn state(host: &Host, own: &Owned, foreign: &Owned) -> Vec<String> {
    let mut state = Vec::new();
    for (key, owned) in [(KEY, own), (OTHER, foreign)] {
        let deployment = format!("/v2/deployments/{}", owned.deployment);
        for path in ["/v2/deployments", &deployment, &format!("{deployment}/revisions")] {
            state.push(host.send("GET", path, &[("X-Api-Key", key)], None).unwrap().text);
        }
    }
    let files =
        ["uploads", "registry"].map(|name| std::fs::read_dir(host.data().join(name)).unwrap().count());
    state.push(format!("{files:?}"));
    state
}

/// A browser sends a key only after a preflight that permits it, and shows an answer to another origin only with a header
/// that permits it. There is neither, so that no origin needs to be refused.
#[test]
fn foreign_pages_reach_nothing_without_a_key() {
    let (host, own, foreign) = two_tenants();
    let revoked = {
        let env = crate::harness::TestEnv::inside(host.data());
        let key = env.run("host keys create --tenant others --data .").out.trim().to_owned();
        let list = env.run("host keys list --data .").out;
        let id = list.lines().last().unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(env.run(&format!("host keys revoke {id} --data .")).code, 0);
        key
    };
    host.until(&format!("/v2/deployments/{}", own.deployment), |it| it["status"] == "READY");
    let path = format!("/v2/deployments/{}/revisions/{}", foreign.deployment, foreign.revision);
    let deadline = std::time::Instant::now() + super::service::PATIENCE;
    let is_deployed =
        || host.send("GET", &path, &[("X-Api-Key", OTHER)], None).unwrap().json["status"] == "DEPLOYED";
    while !is_deployed() {
        assert!(std::time::Instant::now() < deadline, "it is not deployed");
    }
    let before = state(&host, &own, &foreign);
    let mut asked = 0;
    let mut check = |place: &str, answer: Answer, expected: &[u16]| {
        assert!(expected.contains(&answer.status), "{place}: {} {}", answer.status, answer.text);
        for name in ["origin", "headers", "methods", "credentials"] {
            assert_eq!(answer.header(&format!("Access-Control-Allow-{name}")), "", "{place}");
        }
        asked += 1;
    };
    for (method, path, described) in &operations(&openapi(Vocabulary::Specification)) {
        let is_open = described["security"] == serde_json::json!([]);
        let is_description = OPEN.contains(&path.as_str());
        let filled =
            path.replace("{deployment_id}", &own.deployment).replace("{project_id}", &own.deployment);
        let filled = filled.replace("{revision_id}", &own.revision);
        let filled = filled.split('/').map(|part| if part.starts_with('{') { UNKNOWN } else { part });
        let filled = filled.collect::<Vec<_>>().join("/");
        let body = described.get("requestBody").map(|_| ("text/plain", b"{}".to_vec()));
        for header in FOREIGN {
            let place = format!("{method} {path} {header:?}");
            for key in [None, Some(revoked.as_str()), Some(OTHER)] {
                let headers: Vec<_> =
                    [Some(header), key.map(|key| ("X-Api-Key", key))].into_iter().flatten().collect();
                let answer = host.send(method, &filled, &headers, body.clone()).unwrap();
                // With the key of another tenant, what is not by ID is that tenant's own; bodies are of no accepted type.
                let own_list = matches!(path.as_str(), "/v2/deployments" | "/v2/listeners");
                let expected: &[u16] = match (is_description, is_open, key) {
                    (true, ..) => &[200],
                    (_, true, _) => &[403],
                    (_, _, Some(OTHER)) if own_list && method == "GET" => &[200],
                    (_, _, Some(OTHER)) => &[404, 415],
                    _ => &[401],
                };
                if key == Some(OTHER) && expected.contains(&200) && !is_description {
                    assert!(!answer.text.contains(&own.deployment), "{place}: {}", answer.text);
                }
                check(&place, answer, expected);
            }
            let preflight = [
                header,
                ("Access-Control-Request-Method", method),
                ("Access-Control-Request-Headers", "x-api-key, content-type"),
            ];
            let answer = host.send("OPTIONS", &filled, &preflight, None).unwrap();
            check(&format!("preflight of {place}"), answer, &[401, 405]);
        }
    }
    let digest = format!("sha256:{}", "1".repeat(64));
    for (method, path) in [
        ("GET", "/v2/".to_owned()),
        ("POST", "/v2/images/own/blobs/uploads/".to_owned()),
        ("GET", format!("/v2/images/own/blobs/{digest}")),
        ("GET", "/v2/images/own/manifests/latest".to_owned()),
        ("PUT", "/v2/images/own/manifests/latest".to_owned()),
    ] {
        for header in FOREIGN {
            for key in [KEY, OTHER, &revoked] {
                // A key is no push token.
                let bearer = format!("Bearer {key}");
                let answer = host.send(method, &path, &[header, ("Authorization", &bearer)], None).unwrap();
                check(&format!("{method} {path} {header:?}"), answer, &[401]);
            }
        }
    }
    assert_eq!(asked, 23 * 3 * 4 + 5 * 3 * 3);
    assert_eq!(state(&host, &own, &foreign), before);
}
