//! Tenants that claim what belongs to others. `host::hostile` does the same with real engines.

use agentcli_host::{Repositories, Store, Webhook};
use serde_json::{Value, json};

use super::image;
use super::service::{Answer, Host, KEY, Knobs};
use super::tenants::OTHER;
use super::webhook::{SECRET, hmac};

const INTEGRATION: &str = "7b0c1d2e-0000-4000-8000-000000000003";

const URL: &str = "https://codehost.example/acme/agent";

/// A service with the default tenant and another one.
fn host(change: impl FnOnce(&mut Knobs)) -> Host {
    Host::start(|options| {
        let store = Store::attach(&options.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", OTHER)).unwrap();
        change(options);
    })
}

fn ask(host: &Host, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    let body = (!body.is_null()).then(|| ("application/json", body.to_string().into_bytes()));
    host.send(method, path, &[("X-Api-Key", key)], body).unwrap()
}

fn path(made: &Answer) -> String {
    assert_eq!(made.status, 201, "{}", made.text);
    format!("/v2/deployments/{}", made.json["id"].as_str().unwrap())
}

#[test]
fn host_of_a_custom_url_belongs_to_its_first_deployment() {
    let host = host(|options| options.is_self_hosted = true);
    let make = |key: &str, name: &str, url: &str| {
        let creation = json!({
            "name": name,
            "source": "external_container",
            "source_config": { "custom_url": url },
            "source_revision_config": { "image_uri": image('1') },
            "secrets": [],
        });
        ask(&host, key, "POST", "/v2/deployments", &creation)
    };
    let set = |key: &str, path: &str, url: &str| {
        ask(&host, key, "PATCH", path, &json!({ "source_config": { "custom_url": url } }))
    };
    let first = path(&make(KEY, "first", "https://bücher.example"));
    let second = path(&make(OTHER, "second", "http://second.example/path"));
    let variants = |host: &str, wide: &str| {
        [
            format!("https://{host}"),
            format!("http://{}./", host.to_uppercase()),
            format!("https://{host}:8443/a?b#c"),
            format!("https://user@{host}"),
            format!("https://{wide}"),
        ]
    };
    // Whoever comes later, by either call.
    for url in variants("xn--bcher-kva.example", "Bücher.Example") {
        for answer in [make(OTHER, "third", &url), set(OTHER, &second, &url)] {
            assert_eq!(
                (answer.status, answer.json["detail"].as_str()),
                (409, Some("source_config.custom_url is in use.")),
                "{url}"
            );
        }
    }
    for url in variants("second.example", "ｓｅｃｏｎｄ.example") {
        assert_eq!(set(KEY, &first, &url).status, 409, "{url}");
    }
    for (key, path, url) in
        [(KEY, &first, "https://bücher.example"), (OTHER, &second, "http://second.example/path")]
    {
        assert_eq!(ask(&host, key, "GET", path, &Value::Null).json["source_config"]["custom_url"], url);
        // It may write its own in another way.
        assert_eq!(set(key, path, &format!("{url}/")).status, 200);
    }
    for url in [
        format!("http://{}", host.address()),
        "http://127.0.0.2".to_owned(),
        "http://0x7f.1:8980".to_owned(),
        "http://[::1]:8900".to_owned(),
        "http://[::ffff:127.0.0.1]".to_owned(),
        "http://0.0.0.0".to_owned(),
        "https://first.LOCALHOST.:8980".to_owned(),
        "https://r1.first.localhost".to_owned(),
        "https://ｌocalhost".to_owned(),
        "https://a..b".to_owned(),
    ] {
        let answer = set(OTHER, &second, &url);
        assert_eq!(answer.status, 400, "{url}: {}", answer.text);
        assert!(answer.text.contains("custom_url must be an http"), "{url}: {}", answer.text);
    }
}

fn record(tenant: &str, integration: &str, url: &str, secret: &str) -> Value {
    json!({
        "host_integration_id": integration, "id": 1, "name": "agent", "owner": "acme", "url": url,
        "default_branch": "main", "tenant": tenant, "webhook_secret": secret,
    })
}

#[test]
fn integrations_belong_to_a_tenant() {
    let theirs = INTEGRATION.replace('3', "4");
    let other_secret = "the secret of the other tenant";
    let records = json!([
        record("default", INTEGRATION, URL, SECRET),
        record("others", INTEGRATION, URL, other_secret),
        record("others", &theirs, "https://codehost.example/acme/private", other_secret),
    ]);
    let host = host(|options| {
        options.repositories = Repositories::new(serde_json::from_value(records).unwrap()).unwrap();
        options.webhooks = Webhook::take(&mut options.repositories).unwrap();
    });
    let make = |key: &str, name: &str, integration: &str, url: &str| {
        let creation = json!({
            "name": name,
            "source": "codehost",
            "source_config": { "integration_id": integration, "repo_url": url, "build_on_push": true },
            "source_revision_config": { "repo_ref": "main", "graph_config_path": "agent.json" },
            "secrets": [],
        });
        ask(&host, key, "POST", "/v2/deployments", &creation)
    };
    let unknown = INTEGRATION.replace('3', "5");
    for (integration, url, expected) in [
        (&*theirs, "https://codehost.example/acme/private", "Integration ID"),
        (&unknown, URL, "Integration ID"),
        (INTEGRATION, "https://codehost.example/acme/private", "must be a repository of the integration"),
        (INTEGRATION, "https://codehost.example:444/acme/agent", "must be a repository of the integration"),
        (INTEGRATION, "http://127.0.0.1:18777/agent.git", "must be a repository of the integration"),
    ] {
        let answer = make(KEY, "app", integration, url);
        assert_eq!(answer.status, 400, "{integration} {url}: {}", answer.text);
        assert!(answer.text.contains(expected), "{integration} {url}: {}", answer.text);
    }
    let mine = path(&make(KEY, "mine", INTEGRATION, "https://CODEHOST.example/acme/agent.git"));
    let other = path(&make(OTHER, "other", INTEGRATION, URL));
    let repositories = |key: &str, integration: &str| {
        ask(&host, key, "GET", &format!("/v1/integrations/forge/codehost/{integration}/repos"), &Value::Null)
    };
    assert_eq!(repositories(KEY, &theirs).status, 404);
    let listed = repositories(OTHER, &theirs);
    assert_eq!((listed.status, listed.json.as_array().map(Vec::len)), (200, Some(1)), "{}", listed.text);
    assert!(!listed.text.contains("tenant") && !listed.text.contains("secret"), "{}", listed.text);

    // A push that one tenant's secret proves is no push for the other.
    let push = json!({
        "ref": "refs/heads/main", "after": "a".repeat(40), "repository": { "clone_url": URL },
    });
    let body = push.to_string().into_bytes();
    let signature = format!("sha256={}", hmac(other_secret, &body));
    let headers = [("X-GitHub-Event", "push"), ("X-Hub-Signature-256", &*signature)];
    let webhook = format!("/v1/integrations/{INTEGRATION}/webhook");
    let answer = host.send("POST", &webhook, &headers, Some(("application/json", body))).unwrap();
    assert_eq!((answer.status, &answer.json["revisions"]), (200, &json!(1)), "{}", answer.text);
    for (key, path, expected) in [(KEY, &mine, 1), (OTHER, &other, 2)] {
        let revisions = ask(&host, key, "GET", &format!("{path}/revisions"), &Value::Null);
        assert_eq!(revisions.json["resources"].as_array().map(Vec::len), Some(expected), "{path}");
    }
}
