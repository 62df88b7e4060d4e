//! The client of the deployment service, and the commands that use it, against the real service; what goes wrong on
//! the way goes wrong in a proxy.

mod account;
mod client;
mod commands;
mod faults;
mod logs;
#[cfg(feature = "system-tests")]
mod network;
mod vocabulary;
mod wire;

use std::net::SocketAddr;
use std::time::Duration;

use agentcli::api::wire::{Redacted, Repository};
use agentcli::api::{Account, Client, RetryPolicy, Vocabulary};
use serde_json::{Value, json};

use crate::harness::{Output, TestEnv};
use crate::host::service::{Host, KEY};
use crate::proxy::Proxy;

/// The value of the secret that every deployment of the tests has.
const SECRET: &str = "value-of-a-secret-98765";

/// An integration with a code host.
const INTEGRATION: &str = "11111111-2222-3333-4444-555555555555";

/// A service with a deployment that has a revision, behind a proxy.
struct Scene {
    host: Host,
    proxy: Proxy,
    /// Of the deployment.
    id: String,
}

impl Scene {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut crate::host::service::Knobs)) -> Self {
        let mut is_public = false;
        let host = Host::start(|options| {
            options.repositories = agentcli_host::Repositories::new(vec![repository()]).unwrap();
            change(options);
            is_public = options.vocabulary == Vocabulary::Public;
        });
        let mut creation = creation("agent");
        if is_public {
            creation["source"] = "internal_docker".into();
        }
        let created = host.expect(201, "POST", "/v2/deployments", Some(&creation));
        let id = created["id"].as_str().unwrap().to_owned();
        let image = json!({ "source_revision_config": { "image_uri": image('a') } });
        host.expect(200, "PATCH", &format!("/v2/deployments/{id}"), Some(&image));
        host.until(&format!("/v2/deployments/{id}"), |it| it["active_revision_id"].is_string());
        let proxy = Proxy::start(host.address());
        Self { host, proxy, id }
    }

    /// Runs `agentcli deploy …` through the proxy.
    fn deploy(&self, arguments: &str) -> Output {
        deploy(&TestEnv::empty(), &self.proxy.url(), arguments)
    }

    /// The number of revisions, asked of the service itself.
    fn revisions(&self) -> usize {
        let path = format!("/v2/deployments/{}/revisions", self.id);
        self.host.expect(200, "GET", &path, None)["resources"].as_array().unwrap().len()
    }

    /// The names of all deployments, asked of the service itself.
    fn names(&self) -> Vec<String> {
        let list = self.host.expect(200, "GET", "/v2/deployments?limit=100", None);
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        list["resources"].as_array().unwrap().iter().map(name).collect()
    }
}

/// Runs `agentcli deploy …`, saying all that there is to say; nothing secret is ever among it.
fn deploy(env: &TestEnv, url: &str, arguments: &str) -> Output {
    quiet(env.run(&format!("deploy {arguments} -v --host-url {url} --api-key {KEY}")))
}

/// What nobody may see was not printed.
fn quiet(output: Output) -> Output {
    for secret in [KEY, SECRET] {
        let is_told = output.out.contains(secret) || output.err.contains(secret);
        assert!(!is_told, "{secret} in {output:?}");
    }
    output
}

fn creation(name: &str) -> Value {
    json!({
        "name": name,
        "source": "internal_container",
        "source_config": { "resource_spec": { "cpu": 1.0 } },
        "source_revision_config": {},
        "secrets": [{ "name": "TOKEN", "value": SECRET }],
    })
}

fn image(digit: char) -> String {
    format!("registry.example/app@sha256:{}", digit.to_string().repeat(64))
}

fn repository() -> Repository {
    let record = json!({
        "host_integration_id": INTEGRATION,
        "id": 1,
        "name": "agent",
        "owner": "somebody",
        "url": "https://code.example/somebody/agent",
        "default_branch": "main",
    });
    serde_json::from_value(record).unwrap()
}

/// A client that does not wait for long.
fn client(address: SocketAddr) -> Client {
    let account = Account {
        host: format!("http://{address}"),
        key: Redacted::new(KEY),
        tenant: None,
        vocabulary: Vocabulary::Specification,
    };
    Client::new(account).unwrap().with_retry_policy(RetryPolicy {
        attempt: Duration::from_secs(5),
        total: Duration::from_secs(20),
        pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(100),
        ..RetryPolicy::default()
    })
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
