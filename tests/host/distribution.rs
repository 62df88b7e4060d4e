//! The registry of the service: pushes and pulls as the distribution specification has them, without an engine.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use agentcli_host::{RegistryLimits, Store};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::service::{Answer, Host, PATIENCE};
use super::stand_in::StandIn;
use super::store::Process;
use super::tenants::OTHER;
use super::{created, deployed};
use crate::harness::TestEnv;

const KIND: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const BYTES: &str = "application/octet-stream";

fn digest(content: &[u8]) -> String {
    let digits = hex::encode(Sha256::digest(content));
    format!("sha256:{digits}")
}

/// A client of the repository of a deployment.
struct Client<'a> {
    host: &'a Host,
    repository: String,
    authorization: String,
}

impl<'a> Client<'a> {
    /// With a new push token.
    fn new(host: &'a Host, id: &str, name: &str) -> Self {
        let answer = host.expect(200, "POST", &format!("/v2/deployments/{id}/push-token"), Some(&json!({})));
        let address = host.address();
        assert_eq!(answer["registry_url"], json!(format!("{address}/images")));
        assert_eq!(answer["repository_url"], json!(format!("{address}/images/{name}")));
        Self::with_token(host, name, answer["token"].as_str().unwrap())
    }

    fn with_token(host: &'a Host, name: &str, token: &str) -> Self {
        let authorization = format!("Basic {}", STANDARD.encode(format!("token:{token}")));
        Self { host, repository: format!("/v2/images/{name}"), authorization }
    }

    fn ask_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<(&str, &[u8])>,
    ) -> Answer {
        let path =
            if path.starts_with("/v2") { path.to_owned() } else { format!("{}{path}", self.repository) };
        let headers = [&[("Authorization", &*self.authorization)], headers].concat();
        let body = body.map(|(kind, content)| (kind, content.to_vec()));
        self.host.send(method, &path, &headers, body).unwrap()
    }

    fn ask(&self, method: &str, path: &str, body: Option<(&str, &[u8])>) -> Answer {
        self.ask_with(method, path, &[], body)
    }

    /// Asks for something that is refused.
    fn refused(&self, method: &str, path: &str, body: Option<(&str, &[u8])>, status: u16, code: &str) {
        let answer = self.ask(method, path, body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        assert_eq!(answer.json["errors"][0]["code"], json!(code), "{method} {path}: {}", answer.text);
        assert!(answer.json["errors"][0]["message"].as_str().is_some_and(|it| it.ends_with('.')));
    }

    fn blob(&self, content: &[u8]) -> Value {
        let digest = digest(content);
        let path = format!("/blobs/uploads/?digest={digest}");
        let answer = self.ask("POST", &path, Some((BYTES, content)));
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!(answer.header("docker-content-digest"), digest);
        json!({ "mediaType": BYTES, "digest": digest, "size": content.len() })
    }

    /// Pushes an image of two layers; its digest.
    fn push(&self, layer: &str, tag: &str) -> String {
        let layers = [self.blob(b"shared"), self.blob(layer.as_bytes())];
        let manifest = manifest(&self.blob(b"{}"), &layers);
        let answer = self.ask("PUT", &format!("/manifests/{tag}"), Some((KIND, &manifest)));
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.header("docker-content-digest").to_owned()
    }

    fn image(&self, digest: &str) -> String {
        format!("{}{}@{digest}", self.host.address(), self.repository.strip_prefix("/v2").unwrap())
    }
}

fn manifest(config: &Value, layers: &[Value]) -> Vec<u8> {
    json!({ "schemaVersion": 2, "mediaType": KIND, "config": config, "layers": layers })
        .to_string()
        .into_bytes()
}

/// The files of a deployment in the registry.
fn files(host: &Host, id: &str) -> Vec<String> {
    let entries = fs::read_dir(host.data().join("registry").join(id)).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn until(what: &str, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_image_is_pushed_in_parts_and_pulled() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let client = Client::new(&host, &id, "app");
    assert_eq!(client.ask("GET", "/v2/", None).status, 200);
    client.refused("GET", &format!("/blobs/{}", digest(b"layer")), None, 404, "BLOB_UNKNOWN");

    // A mount becomes an upload.
    let from = format!("/blobs/uploads/?mount={}&from=images/other", digest(b"layer"));
    let begun = client.ask("POST", &from, None);
    assert_eq!(begun.status, 202, "{}", begun.text);
    let place = begun.header("location").to_owned();
    let append = |range: &str, content: &[u8]| {
        client.ask_with("PATCH", &place, &[("Content-Range", range)], Some((BYTES, content)))
    };
    let first = append("0-2", b"lay");
    assert_eq!((first.status, first.header("range")), (202, "0-2"), "{}", first.text);
    let wrong = append("1-2", b"ay");
    assert_eq!((wrong.status, wrong.header("range")), (416, "0-2"));
    let state = client.ask("GET", &place, None);
    assert_eq!((state.status, state.header("range")), (204, "0-2"));
    assert_eq!(files(&host, &id).len(), 1);
    let path = format!("{place}?digest={}", digest(b"layer"));
    assert_eq!(client.ask("PUT", &path, Some((BYTES, b"er"))).status, 201);
    client.refused("PUT", &path, Some((BYTES, b"er")), 404, "BLOB_UPLOAD_UNKNOWN");
    assert_eq!(files(&host, &id), [&digest(b"layer")[7..]]);
    let got = client.ask("GET", &format!("/blobs/{}", digest(b"layer")), None);
    assert_eq!((got.status, &*got.text, got.header("content-length")), (200, "layer", "5"));
    let head = client.ask("HEAD", &format!("/blobs/{}", digest(b"layer")), None);
    assert_eq!((head.status, head.header("content-length")), (200, "5"));

    let pushed = client.push("layer", "v1");
    for reference in ["v1", &pushed] {
        let path = format!("/manifests/{reference}");
        let got = client.ask("GET", &path, None);
        assert_eq!(
            (got.status, digest(got.text.as_bytes()), got.header("content-type")),
            (200, pushed.clone(), KIND)
        );
        let head = client.ask("HEAD", &path, None);
        assert_eq!((head.status, head.header("docker-content-digest")), (200, &*pushed));
        assert_eq!(head.header("content-length"), got.text.len().to_string());
    }
    let size = client.ask("GET", "/manifests/v1", None).text.len();
    let part = json!({ "mediaType": KIND, "digest": pushed, "size": size });
    let index = json!({ "schemaVersion": 2, "manifests": [part] }).to_string().into_bytes();
    let answer = client.ask("PUT", "/manifests/all", Some((INDEX, &index)));
    assert_eq!((answer.status, answer.header("docker-content-digest")), (201, &*digest(&index)));
    client.refused("GET", "/manifests/none", None, 404, "MANIFEST_UNKNOWN");
    client.refused("DELETE", "/manifests/v1", None, 405, "UNSUPPORTED");
    client.refused("GET", "/tags/list", None, 404, "NAME_UNKNOWN");

    // What is cancelled is removed.
    let begun = client.ask("POST", "/blobs/uploads/", None);
    let count = files(&host, &id).len();
    assert_eq!(client.ask("DELETE", begun.header("location"), None).status, 204);
    assert_eq!(files(&host, &id).len(), count - 1);
}

#[test]
fn credentials_are_for_one_repository_and_expire() {
    let host = Host::start(|_| {});
    let (id, other) = (created(&host, "app"), created(&host, "other"));
    let client = Client::new(&host, &id, "app");
    let digest = client.push("layer", "latest");
    let foreign = Client::new(&host, &other, "other");
    let strangers =
        [Client::with_token(&host, "app", "none"), Client::with_token(&host, "app", &"0".repeat(64))];
    let paths = [
        ("GET", "/manifests/latest".to_owned()),
        ("PUT", "/manifests/latest".to_owned()),
        ("GET", format!("/manifests/{digest}")),
        ("GET", "/blobs/sha256:0".to_owned()),
        ("POST", "/blobs/uploads/".to_owned()),
        ("PATCH", "/blobs/uploads/1".to_owned()),
        ("PUT", "/blobs/uploads/1".to_owned()),
        ("DELETE", "/blobs/uploads/1".to_owned()),
    ];
    for (method, path) in &paths {
        for stranger in &strangers {
            stranger.refused(method, path, None, 401, "UNAUTHORIZED");
        }
        let of_other =
            Client { repository: client.repository.clone(), ..Client::new(&host, &other, "other") };
        of_other.refused(method, path, None, 403, "DENIED");
        let of_none = Client { repository: "/v2/images/none".to_owned(), ..Client::new(&host, &id, "app") };
        of_none.refused(method, path, None, 403, "DENIED");
    }
    for headers in [&[][..], &[("X-Api-Key", super::service::KEY)]] {
        let answer = host.send("GET", "/v2/", headers, None).unwrap();
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Basic realm=\"agentcli\""));
        assert_eq!(answer.json["errors"][0]["code"], "UNAUTHORIZED");
    }
    // A push token is no API key, and an upload of one deployment is not another's.
    let answer = host.send("GET", "/v2/deployments", &[("Authorization", &client.authorization)], None);
    assert_eq!(answer.unwrap().status, 401);
    let begun = client.ask("POST", "/blobs/uploads/", None);
    let place = begun.header("location").replace("/app/", "/other/");
    foreign.refused("GET", &place, None, 404, "BLOB_UPLOAD_UNKNOWN");

    host.expect(204, "DELETE", &format!("/v2/deployments/{id}"), None);
    client.refused("GET", "/manifests/latest", None, 401, "UNAUTHORIZED");
    until("the images stay", || !host.data().join("registry").join(&id).exists());
    // Its name is free, and what it had is not there.
    let again = created(&host, "app");
    let client = Client::new(&host, &again, "app");
    client.refused("GET", "/manifests/latest", None, 404, "MANIFEST_UNKNOWN");

    let host = Host::start(|options| options.limits.registry.token = Duration::ZERO);
    let id = created(&host, "app");
    Client::new(&host, &id, "app").refused("GET", "/v2/", None, 401, "UNAUTHORIZED");
}

#[test]
fn what_is_not_whole_is_refused() {
    let host = Host::start(|options| {
        options.limits.registry =
            RegistryLimits { blob: 1000, repository: 1500, ..RegistryLimits::default() };
    });
    let id = created(&host, "app");
    let client = Client::new(&host, &id, "app");
    let wrong = format!("/blobs/uploads/?digest={}", digest(b"other"));
    client.refused("POST", &wrong, Some((BYTES, b"content")), 400, "DIGEST_INVALID");
    client.refused("POST", "/blobs/uploads/?digest=md5:1", Some((BYTES, b"")), 400, "DIGEST_INVALID");
    let begun = client.ask("POST", "/blobs/uploads/", None);
    client.refused("PUT", begun.header("location"), None, 400, "DIGEST_INVALID");
    let place = format!("{}?digest={}", begun.header("location"), digest(b"other"));
    client.refused("PUT", &place, Some((BYTES, b"content")), 400, "DIGEST_INVALID");
    let large = vec![b'x'; 1001];
    let place = format!("/blobs/uploads/?digest={}", digest(&large));
    client.refused("POST", &place, Some((BYTES, &large)), 413, "SIZE_INVALID");
    assert_eq!(files(&host, &id), Vec::<String>::new());
    client.blob(&large[..1000]);
    let rest = &large[..501];
    let place = format!("/blobs/uploads/?digest={}", digest(rest));
    client.refused("POST", &place, Some((BYTES, rest)), 413, "SIZE_INVALID");

    let (config, layer) = (client.blob(b"{}"), client.blob(b"layer"));
    let missing = json!({ "mediaType": BYTES, "digest": digest(b"gone"), "size": 4 });
    let mut other_size = layer.clone();
    other_size["size"] = json!(6);
    let valid = manifest(&config, std::slice::from_ref(&layer));
    let index = json!({ "schemaVersion": 2, "manifests": [missing] }).to_string();
    for (path, kind, content, code) in [
        ("latest", KIND, &manifest(&config, &[missing])[..], "MANIFEST_BLOB_UNKNOWN"),
        ("latest", INDEX, index.as_bytes(), "MANIFEST_BLOB_UNKNOWN"),
        ("latest", KIND, &manifest(&config, &[other_size]), "MANIFEST_INVALID"),
        ("latest", INDEX, &valid, "MANIFEST_INVALID"),
        ("latest", BYTES, &valid, "MANIFEST_INVALID"),
        ("latest", KIND, b"{", "MANIFEST_INVALID"),
        ("-", KIND, &valid, "MANIFEST_INVALID"),
        (&digest(b"other"), KIND, &valid, "DIGEST_INVALID"),
    ] {
        client.refused("PUT", &format!("/manifests/{path}"), Some((kind, content)), 400, code);
    }
    client.refused("GET", "/manifests/latest", None, 404, "MANIFEST_UNKNOWN");
    let by_digest = format!("/manifests/{}", digest(&valid));
    assert_eq!(client.ask("PUT", &by_digest, Some((KIND, &valid))).status, 201);
}

#[test]
fn a_revision_runs_what_was_pushed_for_its_deployment() {
    let host = Host::start(|_| {});
    let (id, other) = (created(&host, "app"), created(&host, "other"));
    let client = Client::new(&host, &id, "app");
    let digest = client.push("layer", "latest");
    let image = client.image(&digest);
    let patch = |id: &str, image: &str| {
        let patch = json!({ "source_revision_config": { "image_uri": image } });
        host.ask("PATCH", &format!("/v2/deployments/{id}"), Some(&patch))
    };
    let by_tag = image.replace(&format!("@{digest}"), ":latest");
    let unknown = client.image(&self::digest(b"other"));
    let localhost = image.replace("127.0.0.1", "localhost");
    for (id, image) in [(&other, &image), (&other, &localhost), (&id, &by_tag), (&id, &unknown)] {
        let answer = patch(id, image);
        assert_eq!(answer.status, 400, "{image}: {}", answer.text);
        assert!(answer.text.contains("push the image first"), "{}", answer.text);
    }
    // Nor does it run what another tenant pushed, or the image of an ID.
    let store = Store::attach(host.data()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.add_key("others", OTHER)).unwrap();
    let ask = |method: &str, path: &str, body: &Value| {
        let body = Some(("application/json", body.to_string().into_bytes()));
        host.send(method, path, &[("X-Api-Key", OTHER)], body).unwrap()
    };
    let theirs = ask("POST", "/v2/deployments", &super::creation("theirs")).json["id"].clone();
    let theirs = format!("/v2/deployments/{}", theirs.as_str().unwrap());
    let hex = digest.strip_prefix("sha256:").unwrap();
    for (image, expected) in [
        (&*image, "push the image first"),
        (&localhost, "push the image first"),
        (&by_tag, "push the image first"),
        (&hex[..6], "is the ID of an image"),
        (hex, "is the ID of an image"),
        (&digest, "is the ID of an image"),
        (&digest[..13], "is the ID of an image"),
    ] {
        let patch = json!({ "source_revision_config": { "image_uri": image } });
        let answer = ask("PATCH", &theirs, &patch);
        assert_eq!(answer.status, 400, "{image}: {}", answer.text);
        assert!(answer.text.contains(expected), "{image}: {}", answer.text);
    }
    // Nor does it run what the service keeps of others on the engine.
    for kept in [
        "agentcli-host/other.12345678:1",
        "docker.io/agentcli-host-0123/other.12345678:1",
        "localhost/agentcli-host-0123/other.12345678:1",
    ] {
        let answer = patch(&id, kept);
        assert_eq!(answer.status, 400, "{kept}: {}", answer.text);
        assert!(answer.text.contains("the service itself named"), "{}", answer.text);
    }
    for image in [&image, &localhost] {
        let revision = deployed(&host, &id, image);
        host.until(&revision, |it| it["status"] == "DEPLOYED");
    }
}

#[test]
fn images_of_old_revisions_are_removed() {
    // Whatever no revision needs goes at once, so all are pushed before.
    let mut engine = StandIn::default();
    let host = Host::start(|options| {
        options.limits.registry.unused = Duration::ZERO;
        engine = options.runner.clone();
    });
    let id = created(&host, "app");
    let client = Client::new(&host, &id, "app");
    let layers: Vec<String> = (1..=6).map(|number| format!("layer {number}")).collect();
    let images: Vec<String> = layers.iter().map(|layer| client.push(layer, "latest")).collect();
    for image in &images {
        let revision = deployed(&host, &id, &client.image(image));
        host.until(&revision, |it| it["status"] == "DEPLOYED");
    }
    let manifest = |image: &str| client.ask("HEAD", &format!("/manifests/{image}"), None).status;
    until("the first image stays", || manifest(&images[0]) == 404);
    until("the first layer stays", || {
        !files(&host, &id).contains(&digest(layers[0].as_bytes())[7..].to_owned())
    });
    // So are the names by which the engine pulled them.
    let is_removed = |image: &String| engine.acts().contains(&format!("untag {}", client.image(image)));
    until("the name of the first image stays", || is_removed(&images[0]));
    assert!(!images[1..].iter().any(is_removed));
    for (image, layer) in images.iter().zip(&layers).skip(1) {
        assert_eq!(manifest(image), 200);
        assert!(files(&host, &id).contains(&digest(layer.as_bytes())[7..].to_owned()));
    }
    // Five layers, and those that they share.
    assert_eq!(files(&host, &id).len(), 7);

    let env = TestEnv::inside(host.data());
    let check = || env.run("host check --data .");
    assert_eq!(check().code, 0, "{}", check().out);
    let copies = TempDir::new().unwrap();
    let copy = copies.path().join("copy");
    assert_eq!(env.run(&format!("host backup --data . {}", copy.display())).code, 0);
    assert_eq!(fs::read_dir(copy.join("registry").join(&id)).unwrap().count(), 7);
    let file = |layer: &str| host.data().join("registry").join(&id).join(&digest(layer.as_bytes())[7..]);
    fs::remove_file(file("shared")).unwrap();
    fs::write(file(&layers[5]), "damaged").unwrap();
    fs::create_dir(host.data().join("registry/nobody")).unwrap();
    let said = check();
    assert_eq!(said.code, 1);
    for expected in [
        format!("the blob {} of {id} is missing", digest(b"shared")),
        format!("the blob {} of {id} is damaged", digest(layers[5].as_bytes())),
        "the images in registry/nobody belong to no deployment".to_owned(),
    ] {
        assert!(said.out.contains(&expected), "{}", said.out);
    }
}

#[test]
fn an_upload_that_is_killed_leaves_nothing() {
    let env = TestEnv::empty();
    let service = Process::start(&env);
    let (status, deployment) = service.ask("POST", "/v2/deployments", Some(&super::creation("app"))).unwrap();
    assert_eq!(status, 201);
    let id = deployment["id"].as_str().unwrap();
    let path = format!("/v2/deployments/{id}/push-token");
    let token = service.ask("POST", &path, Some(&json!({}))).unwrap().1["token"].as_str().unwrap().to_owned();
    let address = service.url.strip_prefix("http://").unwrap();
    let login = STANDARD.encode(format!("token:{token}"));
    let head = format!(
        "POST /v2/images/app/blobs/uploads/?digest={} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {login}\r\n\
         Content-Length: 5000000\r\n\r\n",
        digest(b"x")
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; 3_000_000]).unwrap();
    let directory: PathBuf = env.path("data/registry").join(id);
    let sizes = || -> Vec<u64> {
        let entries = fs::read_dir(&directory).into_iter().flatten();
        entries.map(|entry| entry.unwrap().metadata().unwrap().len()).collect()
    };
    until("nothing is received", || sizes().first().is_some_and(|size| *size > 1_000_000));
    service.kill();
    assert_eq!(sizes().len(), 1);
    let service = Process::start(&env);
    assert_eq!(sizes(), Vec::<u64>::new());
    service.kill();
    assert_eq!(env.run("host check --data data").code, 0);
}
