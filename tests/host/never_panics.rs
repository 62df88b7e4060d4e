//! Whatever is asked: an answer, and not that the service is broken.

use agentcli_host::{ROUTES, Route};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::service::{Host, KEY};
use super::{created, creation, deployed, image};

/// A service with a deployment and a revision.
struct Known {
    host: Host,
    id: String,
    revision: String,
}

impl Known {
    fn start() -> Self {
        let host = Host::start(|_| {});
        let id = created(&host, "app");
        let revision = deployed(&host, &id, &image('1'));
        let revision = revision.rsplit('/').next().unwrap().to_owned();
        Self { host, id, revision }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<(), TestCaseError> {
        let path = path.replace("{revision_id}", &self.revision);
        let path = ["{deployment_id}", "{project_id}", "{integration_id}"]
            .iter()
            .fold(path, |path, name| path.replace(name, &self.id));
        let body = Some(("application/json", body.to_string().into_bytes()));
        let answer = self.host.send(method, &path, &[("X-Api-Key", KEY)], body).unwrap();
        prop_assert!(answer.status < 500, "{} {}: {}", method, path, answer.text);
        prop_assert!(answer.status < 400 || answer.json["detail"] != json!(null), "{}", answer.text);
        if answer.status == 201 {
            let made = format!("/v2/deployments/{}", answer.json["id"].as_str().unwrap());
            prop_assert_eq!(self.host.ask("DELETE", &made, None).status, 204);
        }
        Ok(())
    }
}

/// Names and values that mean something, and others.
const NAMES: &[&str] = &[
    "name",
    "source",
    "source_config",
    "source_revision_config",
    "secrets",
    "secret_references",
    "revision_source",
    "resource_spec",
    "image_uri",
    "source_tarball_path",
    "graph_config_path",
    "repo_ref",
    "repo_commit_sha",
    "integration_id",
    "deployment_type",
    "listener_config",
    "build_on_push",
    "min_scale",
    "max_scale",
    "cpu",
    "labels",
    "volumes",
    "init_containers",
    "env",
    "value",
    "secret_name",
    "tag_value_ids",
    "limit",
    "offset",
    "order",
    "level",
    "query",
    "start_time",
    "end_time",
    "supports_upload_headers",
    "",
    "日本語",
];
const WORDS: &[&str] = &[
    "codehost",
    "external_container",
    "internal_container",
    "internal_source",
    "internal_template",
    "github",
    "app",
    "new-app",
    "agent.json",
    "../..",
    "refs/tags/1",
    "prod",
    "asc",
    "DEBUG",
    "2026-03-08T12:00:00Z",
    "",
    "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001",
    "a@sha256:",
    "\u{0}",
    "é",
    "99999999999999999999",
    "-999999999-01-01T00:00:00Z",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let name = prop_oneof![prop::sample::select(NAMES).prop_map(str::to_owned), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A body that is nearly right: a creation with one of its values replaced.
fn nearly() -> impl Strategy<Value = Value> {
    (prop::sample::select(NAMES), any_value()).prop_map(|(name, value)| {
        let mut body = creation("app-of-a-case");
        body[name] = value.clone();
        if let Some(config) = body["source_config"].as_object_mut() {
            config.insert(name.to_owned(), value);
        }
        body
    })
}

fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&strategy, test).unwrap();
}

#[test]
fn any_body() {
    let known = Known::start();
    let routes: Vec<Route> = ROUTES.iter().copied().filter(|route| route.method != "DELETE").collect();
    let cases = (prop::sample::select(routes), prop_oneof![any_value(), nearly()]);
    check(cases, |(route, body)| known.ask(route.method, route.path, &body));
}

#[test]
fn any_query() {
    let known = Known::start();
    let routes: Vec<Route> = ROUTES.iter().copied().filter(|route| route.method == "GET").collect();
    let pairs = prop::collection::vec((prop::sample::select(NAMES), prop::sample::select(WORDS)), 0..4);
    check((prop::sample::select(routes), pairs), |(route, pairs)| {
        let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
        let query = pairs.collect::<Vec<_>>().join("&");
        known.ask(route.method, &format!("{}?{query}&%ff=%fe&&=", route.path), &json!({}))
    });
}

#[test]
fn any_path() {
    let host = Host::start(|_| {});
    check("[a-z0-9/%{}.-]{0,20}", |tail| {
        let path = format!("/v2/deployments/{tail}");
        // The client resolves `..`, and would ask for another route.
        let sent = Url::parse(&format!("http://host{path}"));
        if !sent.is_ok_and(|url| url.path().starts_with("/v2/deployments/")) {
            return Ok(());
        }
        if let Ok(answer) = host.send("GET", &path, &[("X-Api-Key", KEY)], None) {
            prop_assert!(answer.status < 500, "{}: {}", tail, answer.text);
        }
        Ok(())
    });
}
