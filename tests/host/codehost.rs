//! The source `codehost` on a real engine, with repositories over HTTP.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use RepositoryAccess::{Anonymous, Listed, Private};
use agentcli_host::runner::{BuildJob, Databases, Failure, Origin, RepositoryAccess, Runner as _, image_tag};
use agentcli_host::{DEFAULT_TENANT, Limits, Options, Repositories, Service, Store, Webhook};
use serde_json::{Value, json};

use super::git_server::{GitServer, Repository, git};
use super::runner::{OwnHost, ask, log};
use super::service::KEY;
use super::webhook::{SECRET, hmac};
use crate::harness::{PATIENCE, copy, fixtures};

const INTEGRATION: &str = "7b0c1d2e-0000-4000-8000-000000000002";

/// Builds a reference; the reason of its failure, and the log. All fail, before an image is built.
async fn failure(
    host: &OwnHost,
    limit: u64,
    url: &str,
    reference: &str,
    commit: Option<&str>,
    access: RepositoryAccess,
) -> (String, String) {
    let (url, reference) = (url.to_owned(), reference.to_owned());
    let commit = commit.map(str::to_owned);
    let origin = Origin::Repository { url, reference, commit, access };
    let (tag, config) = (image_tag(&host.id, &host.name(), 1), "agent.json".to_owned());
    let cache = "cache".to_owned();
    let job = BuildJob { tag, cache, origin, config, install_command: None, build_command: None };
    let (sink, lines) = log();
    let mut options = host.options(Databases::new(None, None, b"key").unwrap());
    options.repository_limit = limit;
    let runner = agentcli_host::runner::EngineRunner::new(options).unwrap();
    let failed = tokio::time::timeout(PATIENCE, runner.build(job, sink)).await.unwrap();
    let Err(Failure::Refused(reason)) = failed else { panic!("{failed:?}") };
    // Nothing is left of it.
    assert_eq!(fs::read_dir(host.builds()).unwrap().count(), 0);
    let lines = lines.lock().unwrap().join("\n");
    (reason, lines)
}

fn write(repository: &Repository, graph: &str) {
    let config = json!({ "dependencies": ["."], "graphs": { "agent": format!("./{graph}.py:graph") } });
    fs::write(repository.clone.join("agent.json"), config.to_string()).unwrap();
    fs::write(repository.clone.join("requirements.txt"), "").unwrap();
}

#[tokio::test]
async fn branches_tags_and_commits_are_fetched() {
    let (host, server) = (OwnHost::new(), GitServer::start());
    let repository = server.repository("agent.git");
    write(&repository, "first");
    let first = repository.push("refs/heads/main");
    write(&repository, "second");
    fs::write(repository.clone.join(".gitmodules"), "").unwrap();
    fs::write(repository.clone.join(".gitattributes"), "*.bin filter=lfs\n").unwrap();
    let second = repository.push("refs/tags/v2");
    write(&repository, "third");
    let third = repository.push("refs/heads/feature/x");
    let others = ["HEAD:refs/heads/main", "HEAD:refs/heads/v3", "HEAD~1:refs/tags/v3"];
    git(&repository.clone, &[&["push", "-q", "origin"], &others[..]].concat());
    for (reference, wanted, commit, graph) in [
        ("main", None, &third, "third"),
        ("refs/heads/main", None, &third, "third"),
        ("main", Some(&*first), &first, "first"),
        ("v2", None, &second, "second"),
        ("refs/tags/v2", None, &second, "second"),
        ("feature/x", None, &third, "third"),
        // A branch takes precedence over a tag.
        ("v3", None, &third, "third"),
    ] {
        let (reason, lines) = failure(&host, 1 << 30, &repository.url, reference, wanted, Private).await;
        assert!(reason.starts_with("agent.json is invalid"), "{reference}: {reason}");
        assert!(lines.contains(&format!("{graph}.py")), "{reference}: {lines}");
        assert!(lines.contains(&format!("commit {commit}")), "{reference}: {lines}");
        let warned = graph != "first";
        assert_eq!((lines.contains("submodules"), lines.contains("Git LFS")), (warned, warned), "{lines}");
    }
}

#[tokio::test]
async fn repositories_that_cannot_be_fetched_have_a_reason() {
    let (host, server) = (OwnHost::new(), GitServer::start());
    let repository = server.repository("agent.git");
    write(&repository, "first");
    let noise = (0..3 << 20).scan(1_u32, |seed, _| {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*seed >> 24) as u8)
    });
    fs::write(repository.clone.join("noise"), noise.collect::<Vec<u8>>()).unwrap();
    repository.push("refs/heads/main");
    let url = &repository.url;
    let private = url.replace("agent.git", "private.git");
    let missing = url.replace("agent.git", "missing.git");
    for (url, reference, expected) in [
        (url, "none", "has no branch or tag `none`"),
        (url, "refs/heads/none", "has no branch or tag `refs/heads/none`"),
        (url, "--upload-pack=id", "has no branch or tag `--upload-pack=id`"),
        (url, "*", "has no branch or tag `*`"),
        (&missing, "main", "missing.git/' not found"),
        (&private, "main", "needs credentials that the git of the host does not have"),
        (&"http://127.0.0.1:1/agent.git".to_owned(), "main", "127.0.0.1"),
        (
            &format!("ext::touch% {}", host.builds().join("run").display()),
            "main",
            "the URL must be the https, http or ssh URL of a repository",
        ),
        (&repository.clone.to_str().unwrap().to_owned(), "main", "the URL must be"),
    ] {
        let (reason, lines) = failure(&host, 1 << 30, url, reference, None, Private).await;
        assert!(reason.contains(expected), "{url} {reference}: {reason}\n{lines}");
    }
    let gone = "a".repeat(40);
    let (reason, _) = failure(&host, 1 << 30, url, "main", Some(&gone), Private).await;
    assert!(reason.contains(&gone), "{reason}");
    let (reason, _) = failure(&host, 2 << 20, url, "main", None, Private).await;
    assert!(reason.contains("is larger than 2 MiB"), "{reason}");
}

/// Only the operator decides which repositories of this machine and its network are fetched, and with whose credentials.
#[tokio::test]
async fn repositories_that_the_operator_does_not_list_must_be_public() {
    let (host, server) = (OwnHost::new(), GitServer::start());
    let repository = server.repository("agent.git");
    write(&repository, "first");
    repository.push("refs/heads/main");
    let url = &repository.url;
    for (url, expected) in [
        (url.clone(), "its address is not public"),
        (url.replace("127.0.0.1", "localhost"), "its address is not public"),
        (url.replace("127.0.0.1", "2130706433"), "its address is not public"),
        (url.replace("127.0.0.1", "[::ffff:127.0.0.1]"), "its address is not public"),
        ("https://169.254.169.254/agent.git".to_owned(), "its address is not public"),
        ("git@127.0.0.1:agent.git".to_owned(), "is fetched with credentials"),
        ("ssh://git@127.0.0.1/agent.git".to_owned(), "is fetched with credentials"),
    ] {
        let (reason, lines) = failure(&host, 1 << 30, &url, "main", None, Anonymous).await;
        assert!(reason.contains(expected), "{url}: {reason}\n{lines}");
    }
    // The record of the operator says that it is private.
    let (reason, _) = failure(&host, 1 << 30, url, "main", None, Listed).await;
    assert!(reason.contains("is not public") && reason.contains("`\"private\": true`"), "{reason}");
    let (reason, _) = failure(&host, 1 << 30, url, "main", None, Private).await;
    assert!(reason.starts_with("agent.json is invalid"), "{reason}");
}

/// A push by webhook deploys its commit, although the branch has a newer one by then.
#[tokio::test]
async fn repository_is_deployed_and_a_push_deploys_its_commit() {
    let mut host = OwnHost::new();
    let server = GitServer::start();
    let repository = server.repository("agent.git");
    copy(&fixtures("databases"), &repository.clone);
    repository.push("refs/heads/main");
    let record = json!({
        "host_integration_id": INTEGRATION, "id": 1, "name": "agent", "owner": "acme", "url": repository.url,
        "default_branch": "main", "webhook_secret": SECRET, "private": true,
    });
    let mut repositories = Repositories::new(vec![serde_json::from_value(record).unwrap()]).unwrap();
    let webhooks = Webhook::take(&mut repositories).unwrap();
    let store = Arc::new(Store::open(&host.directory.path().join("data")).unwrap());
    store.add_key(DEFAULT_TENANT, KEY).await.unwrap();
    host.id = store.host_id().unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let options = Options {
        listen: any,
        proxy: any,
        tls: None,
        vocabulary: agentcli::api::Vocabulary::Specification,
        is_self_hosted: false,
        registry: None,
        repositories,
        webhooks,
        templates: None,
        listeners: Vec::new(),
        limits: Limits::default(),
        notices: Arc::new(|_| ()),
    };
    let service = Service::bind(options, store, Arc::new(host.runner())).await.unwrap();
    let (url, proxy) = (format!("http://{}", service.address()), service.proxy_address());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(service.serve(async { stopped.await.unwrap_or_default() }));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = async |method: &str, path: &str, body: Value| {
        let request =
            client.request(method.parse().unwrap(), format!("{url}{path}")).header("X-Api-Key", KEY);
        let signature = format!("sha256={}", hmac(SECRET, body.to_string().as_bytes()));
        let request = request.header("X-Hub-Signature-256", signature).header("X-GitHub-Event", "push");
        let request = request.header("Content-Type", "application/json").body(body.to_string());
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{method} {path}: {text}");
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    let name = host.name();
    let creation = json!({
        "name": name,
        "source": "codehost",
        "source_config": { "integration_id": INTEGRATION, "repo_url": repository.url, "build_on_push": true },
        "source_revision_config": { "repo_ref": "main", "graph_config_path": "agent.json" },
        "secrets": [{ "name": "PLAIN", "value": "x" }],
    });
    let deployment = call("POST", "/v2/deployments", creation).await;
    let path = format!("/v2/deployments/{}", deployment["id"].as_str().unwrap());
    let version = async || {
        let start = Instant::now();
        loop {
            let revisions = call("GET", &format!("{path}/revisions"), json!({})).await;
            let newest = &revisions["resources"][0];
            let status = newest["status"].as_str().unwrap();
            if status == "DEPLOYED" {
                break;
            }
            assert!(!status.ends_with("FAILED") && start.elapsed() < PATIENCE, "{newest}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let host_name = format!("{name}.localhost");
        let answer = tokio::task::spawn_blocking(move || ask(proxy, &host_name)).await.unwrap().unwrap();
        answer["version"].clone()
    };
    assert_eq!(version().await, 1);

    let graph = repository.clone.join("graph.py");
    let text = fs::read_to_string(&graph).unwrap();
    fs::write(&graph, text.replace("VERSION = 1", "VERSION = 2")).unwrap();
    let second = repository.push("refs/heads/main");
    fs::write(&graph, text.replace("VERSION = 1", "VERSION = 3")).unwrap();
    repository.push("refs/heads/main");
    let push = json!({
        "ref": "refs/heads/main", "after": second, "repository": { "clone_url": repository.url },
    });
    let webhook = format!("/v1/integrations/{INTEGRATION}/webhook");
    assert_eq!(call("POST", &webhook, push).await["revisions"], 1);
    assert_eq!(version().await, 2);

    call("DELETE", &path, json!({})).await;
    let start = Instant::now();
    while host.containers().contains(&name) {
        assert!(start.elapsed() < PATIENCE, "{}", host.containers());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    stop.send(()).unwrap();
    serving.await.unwrap();
}
