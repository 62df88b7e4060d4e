//! Images are looked for in a real registry.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use agentcli::api::wire::Redacted;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::service::Host;
use super::{created, deployed, messages};
use crate::registry::{PASSWORD, Registry, USER};

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// What a registry answers: the `Location` of it.
fn send(registry: &Registry, method: &str, url: &str, kind: &str, body: Vec<u8>) -> String {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().unwrap();
        let url = if url.starts_with("http") {
            url.to_owned()
        } else {
            format!("http://{}{url}", registry.address)
        };
        let request = client.request(method.parse().unwrap(), url).basic_auth(USER, Some(PASSWORD));
        let response = request.header("Content-Type", kind).body(body).send().await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        response.headers().get("location").map_or("", |it| it.to_str().unwrap()).to_owned()
    })
}

/// Pushes an image of no layers; the digest of its manifest.
fn push(registry: &Registry, repository: &str, architecture: &str, reference: &str) -> String {
    let labels = json!({ "org.opencontainers.image.version": "1.2.3" });
    let config = json!({ "os": "linux", "architecture": architecture, "config": { "Labels": labels },
                         "rootfs": { "type": "layers", "diff_ids": [] } });
    let config = config.to_string().into_bytes();
    let place = send(registry, "POST", &format!("/v2/{repository}/blobs/uploads/"), "text/plain", Vec::new());
    let sign = if place.contains('?') { '&' } else { '?' };
    let (length, of_config) = (config.len(), digest(&config));
    send(registry, "PUT", &format!("{place}{sign}digest={of_config}"), "application/octet-stream", config);
    let kind = "application/vnd.docker.distribution.manifest.v2+json";
    let manifest = json!({ "schemaVersion": 2, "mediaType": kind, "layers": [],
        "config": { "mediaType": "application/vnd.docker.container.image.v1+json", "size": length, "digest": of_config } });
    let manifest = manifest.to_string().into_bytes();
    let of_manifest = digest(&manifest);
    send(registry, "PUT", &format!("/v2/{repository}/manifests/{reference}"), kind, manifest);
    of_manifest
}

fn with(registry: &Registry, password: &str) -> Host {
    let login = agentcli_host::Login { username: USER.to_owned(), password: Redacted::new(password) };
    let registry =
        agentcli_host::Registry::new(&format!("{}/agents", registry.address), Some(login)).unwrap();
    Host::start(|options| options.registry = Some(registry))
}

/// What is said at last when the revision is where it stays.
fn last(host: &Host, revision: &str, status: &str) -> String {
    host.until(revision, |it| it["status"] == status);
    let log = host.expect(200, "GET", &format!("{revision}/logs?order=desc&limit=1"), None);
    messages(&log)[0].to_owned()
}

#[test]
fn an_image_is_looked_for_by_its_digest() {
    let registry = Registry::start();
    let host = with(&registry, PASSWORD);
    let id = created(&host, "app");
    let token = host.expect(200, "POST", &format!("/v2/deployments/{id}/push-token"), Some(&json!({})));
    let repository = format!("{}/agents/app", registry.address);
    let expected = json!({
        "token": PASSWORD,
        "registry_url": format!("{}/agents", registry.address),
        "username": USER,
        "repository_url": repository,
    });
    assert_eq!(token, expected);
    let found = push(&registry, "agents/app", "amd64", "1");
    let revision = deployed(&host, &id, &format!("{repository}@{found}"));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let by_version = host.expect(200, "GET", "/v2/deployments?image_version=1.2.3", None);
    assert_eq!(by_version["resources"][0]["id"], json!(id));

    let by_tag = deployed(&host, &id, &format!("{repository}:1"));
    host.until(&by_tag, |it| it["status"] == "DEPLOYED");
    let log = host.expect(200, "GET", &format!("{by_tag}/logs?level=WARNING"), None);
    assert!(messages(&log)[0].contains(&format!("names no digest; it is {found}")), "{log}");

    let wrong = format!("{repository}@sha256:{}", "0".repeat(64));
    let line = last(&host, &deployed(&host, &id, &wrong), "DEPLOY_FAILED");
    assert_eq!(line, format!("the registry {} has no {wrong}", registry.address));
    let arm = push(&registry, "agents/app", "arm64", "2");
    let line = last(&host, &deployed(&host, &id, &format!("{repository}@{arm}")), "DEPLOY_FAILED");
    assert!(line.ends_with("is for linux/arm64, and not for linux/amd64"), "{line}");
    let active = host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
    assert!(by_tag.ends_with(active["active_revision_id"].as_str().unwrap()), "{active}");
    let elsewhere = json!({ "source_revision_config": { "image_uri": super::image('1') } });
    let answer = host.expect(400, "PATCH", &format!("/v2/deployments/{id}"), Some(&elsewhere));
    assert!(answer["detail"].as_str().unwrap().contains("must lie in"), "{answer}");
}

#[test]
fn a_registry_that_refuses_or_is_not_there() {
    let registry = Registry::start();
    let host = with(&registry, "wrong");
    let image = format!("{}/agents/app@sha256:{}", registry.address, "0".repeat(64));
    let id = created(&host, "app");
    let line = last(&host, &deployed(&host, &id, &image), "DEPLOY_FAILED");
    assert!(line.contains("does not let the service read"), "{line}");
    drop(registry);
    let line = last(&host, &deployed(&host, &id, &image), "DEPLOY_FAILED");
    assert!(line.contains("it does not answer"), "{line}");
    assert!(!line.contains(PASSWORD) && !line.contains("wrong"), "{line}");
}

#[test]
fn push_tokens_have_rules() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let answer = host.expect(400, "POST", &format!("/v2/deployments/{id}/push-token"), Some(&json!({})));
    assert!(answer["detail"].as_str().unwrap().contains("--registry"), "{answer}");
    let mut source = super::creation("other");
    source["source"] = json!("internal_source");
    let made: Value = host.expect(201, "POST", "/v2/deployments", Some(&source));
    let path = format!("/v2/deployments/{}/push-token", made["id"].as_str().unwrap());
    let answer = host.expect(400, "POST", &path, None);
    let detail = "Push tokens are only available for 'internal_container' source deployments.";
    assert_eq!(answer["detail"], detail);
    for address in ["", "a b", "host/UPPER", "host//x", "http://host"] {
        assert!(agentcli_host::Registry::new(address, None).is_err(), "{address}");
    }
}

/// The most that a registry below sends as a token, in bytes.
const ENDLESS: usize = 64 << 20;

/// A registry that hands out tokens without end. The number of bytes that were taken is received.
fn endless_tokens() -> (String, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, taken) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
            if !head.starts_with("GET /token") {
                let realm = format!("Bearer realm=\"http://{address}/token\"");
                let lines = format!("WWW-Authenticate: {realm}\r\nContent-Length: 0\r\nConnection: close");
                write!(stream, "HTTP/1.1 401 Unauthorized\r\n{lines}\r\n\r\n").ok();
                continue;
            }
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {ENDLESS}\r\n\r\n").ok();
            let chunk = [b'x'; 64 << 10];
            let sent = (0..ENDLESS / chunk.len()).take_while(|_| stream.write_all(&chunk).is_ok()).count();
            sender.send(sent * chunk.len()).ok();
        }
    });
    (address.to_string(), taken)
}

#[test]
fn a_token_has_a_limit() {
    let (address, taken) = endless_tokens();
    let registry = agentcli_host::Registry::new(&format!("{address}/agents"), None).unwrap();
    let host = Host::start(|options| options.registry = Some(registry));
    let id = created(&host, "endless");
    let image = format!("{address}/agents/endless@sha256:{}", "a".repeat(64));
    let patch = json!({ "source_revision_config": { "image_uri": image } });
    host.expect(200, "PATCH", &format!("/v2/deployments/{id}"), Some(&patch));
    let taken = taken.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(taken < ENDLESS, "{taken} bytes were read");
}
