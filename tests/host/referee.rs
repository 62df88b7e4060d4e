//! The existing tool's own client is the referee: what satisfies it is what the public service answers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agentcli::api::Vocabulary;
use agentcli::api::wire::Redacted;
use agentcli_host::{Login, Registry};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::image;
use super::service::{Host, KEY, ended};
use crate::harness::{copy, fixtures, python};
use crate::registry::{self, PASSWORD, USER};

/// How long one command of the tool, or of the engine, may take.
const TOOL: Duration = Duration::from_secs(300);

/// The tool in a project, with an engine, a service and no network.
struct Referee<'a> {
    host: &'a Host,
    engine: String,
    project: TempDir,
}

impl Referee<'_> {
    /// What it says when all goes well: both streams.
    fn says(&self, arguments: &[&str]) -> String {
        let tool = python().with_file_name("langgraph");
        let child = Command::new(&tool)
            .args(arguments)
            .args(["--host-url", &self.host.url(), "--api-key", KEY])
            .current_dir(self.project.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.project.path())
            .env("DOCKER_HOST", &self.engine)
            .env("LANGGRAPH_CLI_NO_ANALYTICS", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("COLUMNS", "200")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; tests/python/install makes it", tool.display()));
        let output = ended(child, TOOL);
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert!(!said.contains(PASSWORD), "{said}");
        said.into_owned()
    }

    /// The last event of what it says as JSON lines.
    fn result(&self, arguments: &[&str]) -> Value {
        let said = self.says(arguments);
        let mut events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = events.rfind(|event| event["event"] == "result");
        last.unwrap_or_else(|| panic!("{arguments:?}: {said}"))
    }
}

/// An image of nothing at all, for the platform that is run; it goes with this.
struct Image {
    engine: String,
    name: String,
}

impl Image {
    fn new(engine: &str, empty: &Path) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let name = format!("agentcli-referee-{:x}", since.as_nanos());
        Command::new("tar").args(["-cf"]).arg(empty).args(["-T", "/dev/null"]).status().unwrap();
        let image = Self { engine: engine.to_owned(), name };
        image.docker(&["import", "--platform", "linux/amd64", empty.to_str().unwrap(), &image.name]);
        image
    }

    fn docker(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("docker");
        command.args(arguments).env("DOCKER_HOST", &self.engine).stdout(Stdio::null());
        ended(command.spawn().unwrap(), TOOL).status.success()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let ids = Command::new("docker")
            .args(["image", "inspect", "--format", "{{.Id}}", &self.name])
            .env("DOCKER_HOST", &self.engine)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ids = ended(ids, TOOL);
        self.docker(&["rmi", "--force", String::from_utf8_lossy(&ids.stdout).trim()]);
    }
}

/// The existing tool's project.
fn project() -> TempDir {
    let project = TempDir::new().unwrap();
    copy(&fixtures("valid").join("hello"), project.path());
    std::fs::rename(project.path().join("agent.json"), project.path().join("langgraph.json")).unwrap();
    project
}

#[test]
fn the_existing_tool_deploys_external_images_and_agents() {
    let id = "aaaaaaaa-0000-4000-8000-000000000001";
    let listener = json!({ "id": id, "compute_type": "k8s", "compute_id": "alpha",
        "compute_config": { "cluster_namespaces": ["one", "two"] } });
    let host = Host::start(|options| {
        options.vocabulary = Vocabulary::Public;
        options.is_self_hosted = true;
        options.listeners = vec![serde_json::from_value(listener).unwrap()];
    });
    let project = project();
    std::fs::write(project.path().join("requirements.txt"), "google-adk==1.2.3\n").unwrap();
    let tool = Referee { host: &host, engine: "unix:///nowhere.sock".to_owned(), project };

    let listed = tool.says(&["deploy", "listeners", "list"]);
    assert!(listed.contains(id) && listed.contains("alpha") && listed.contains("two"), "{listed}");
    let (first, second) = (image('a'), image('b'));
    let deploy = ["deploy", "--name", "external", "--no-input", "--json", "--image-uri"];
    let place = ["--listener-id", id, "--k8s-namespace", "two", "--image-pull-secret", "s1"];
    let made = tool.result(&[&deploy[..], &[&first], &place].concat());
    assert_eq!(made["status"], "succeeded", "{made}");
    let path = format!("/v2/deployments/{}", made["deployment_id"].as_str().unwrap());
    let found = host.expect(200, "GET", &path, None);
    let config = &found["source_config"];
    assert_eq!(
        (&config["listener_id"], &config["listener_config"]["k8s_namespace"]),
        (&json!(id), &json!("two"))
    );
    assert_eq!(config["resource_spec"], json!({ "image_pull_secrets": [{ "name": "s1" }] }));
    assert_eq!(tool.result(&[&deploy[..], &[&second]].concat())["status"], "succeeded");
    let found = host.expect(200, "GET", &path, None);
    assert_eq!(found["source_revision_config"]["image_uri"], json!(second));
    assert_eq!(found["tracked_packages"], json!(["google-adk:==1.2.3"]));

    let agent = ["--agent-id", "sales", "--agent-environment", "staging"];
    let by_agent = |uri: &str| {
        let deploy = ["deploy", "--no-input", "--json", "--image-uri", uri];
        tool.result(&[&deploy[..], &place, &agent].concat())
    };
    let made = by_agent(&first);
    assert_eq!(made["status"], "succeeded", "{made}");
    let list = tool.says(&[&["deploy", "list"][..], &agent].concat());
    let made = made["deployment_id"].as_str().unwrap();
    assert!(list.contains(made) && !list.contains("external"), "{list}");
}

#[test]
fn the_existing_tool_pushes_to_the_service_itself() {
    for engine in crate::engine::hosts() {
        let host = Host::start(|options| options.vocabulary = Vocabulary::Public);
        let project = project();
        let image = Image::new(&engine, &project.path().join("empty.tar"));
        let tool = Referee { host: &host, engine: engine.clone(), project };
        let deploy = ["deploy", "--name", "by-image", "--image", &image.name, "--no-input", "--json"];
        let made = tool.result(&deploy);
        assert_eq!(made["status"], "succeeded", "{engine}: {made}");
        let id = made["deployment_id"].as_str().unwrap();
        let latest = host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
        let uri = latest["source_revision_config"]["image_uri"].as_str().unwrap();
        assert!(uri.starts_with(&format!("{}/images/by-image@sha256:", host.address())), "{engine}: {uri}");
        let kept = std::fs::read_dir(host.data().join("registry").join(id)).unwrap().count();
        assert_eq!(kept, 2, "{engine}: not a configuration and a layer");
    }
}

#[test]
fn the_existing_tool_deploys_lists_and_deletes() {
    let registry = registry::Registry::start();
    let login = Login { username: USER.to_owned(), password: Redacted::new(PASSWORD) };
    let of_host = Registry::new(&registry.address, Some(login)).unwrap();
    let host = Host::start(|options| {
        options.vocabulary = Vocabulary::Public;
        options.registry = Some(of_host);
        options.runner.pace = Duration::from_millis(50);
    });
    let project = project();
    let engine = crate::engine::hosts().remove(0);
    let image = Image::new(&engine, &project.path().join("empty.tar"));
    let tool = Referee { host: &host, engine, project };

    let deploy = ["deploy", "--name", "by-image", "--image", &image.name, "--no-input", "--json"];
    let first = tool.result(&deploy);
    assert_eq!(first["status"], "succeeded", "{first}");
    let id = first["deployment_id"].as_str().unwrap();
    let latest = host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
    let uri = latest["source_revision_config"]["image_uri"].as_str().unwrap();
    let digest = registry.digest("by-image", "latest").unwrap();
    assert_eq!(uri, format!("{}/by-image@{digest}", registry.address));
    assert_eq!(tool.result(&deploy)["deployment_id"], first["deployment_id"]);

    let second = ["deploy", "--name", "by-source", "--remote", "--no-input", "--json", "--verbose"];
    let second = tool.result(&second);
    assert_eq!(second["status"], "succeeded", "{second}");
    let other = second["deployment_id"].as_str().unwrap();

    let list = tool.says(&["deploy", "list"]);
    for expected in [id, "by-image", other, "by-source"] {
        assert!(list.contains(expected), "{list}");
    }
    let list = tool.says(&["deploy", "list", "--name-contains", "image"]);
    assert!(list.contains(id) && !list.contains(other), "{list}");
    let revisions = tool.says(&["deploy", "revisions", "list", id]);
    assert!(revisions.contains("DEPLOYED") && revisions.contains("REPLACED"), "{revisions}");
    let log = tool.says(&["deploy", "logs", "--deployment-id", id]);
    assert!(log.contains("is deployed"), "{log}");
    let log = tool.says(&["deploy", "logs", "--name", "by-source", "--type", "build"]);
    assert!(log.contains("with langgraph.json"), "{log}");
    for id in [id, other] {
        tool.says(&["deploy", "delete", id, "--force"]);
    }
    let none = host.expect(200, "GET", "/v2/deployments", None);
    assert_eq!(none["resources"], json!([]));
}
