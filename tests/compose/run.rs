//! Compose with a real engine: the file alone, and the setup beside services of the user's own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::docker_config;
use crate::engine::{docker, hosts};
use crate::harness::{copy, fixtures, free_port, until};
use crate::up::Running;

/// The engine that is used: the first, the oldest that is supported.
pub(super) fn host() -> String {
    hosts().remove(0)
}

/// A service that says what it hears from the server.
const EXTRA: &str = r#"
services:
  listener:
    image: langchain/langgraph-api:3.11
    command:
      - python3
      - -c
      - |
        import time, urllib.request
        print("${GREETING}", urllib.request.urlopen("http://langgraph-api:8000/ok").read().decode(), flush=True)
        time.sleep(1000)
    depends_on:
      langgraph-api: { condition: service_healthy }
"#;

/// A service that does nothing.
pub(super) const IDLE: &str = r#"
services:
  idle:
    image: langchain/langgraph-api:3.11
    entrypoint: ["sleep", "1000"]
    init: true
"#;

/// A project of a name of its own; nothing is left of it.
pub(super) struct Project {
    directory: TempDir,
    docker_config: TempDir,
    pub(super) name: String,
    port: u16,
}

impl Project {
    pub(super) fn new() -> Self {
        let directory = TempDir::with_prefix("agentcli-compose-").unwrap();
        copy(&fixtures("valid").join("hello"), &directory.path().join("app"));
        let name = directory.path().file_name().unwrap().to_str().unwrap().to_lowercase();
        Self { directory, docker_config: docker_config(), name, port: free_port() }
    }

    pub(super) fn app(&self) -> std::path::PathBuf {
        self.directory.path().join("app")
    }

    pub(super) fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Output {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.app()).env("DOCKER_HOST", host());
        command
            .env("DOCKER_CONFIG", self.docker_config.path())
            .env("LANGSMITH_API_KEY", "k$y")
            .output()
            .unwrap()
    }

    /// `up` with the services of `file` on `engine`, in the foreground.
    pub(super) fn up(&self, engine: &str, file: &str) -> Command {
        let mut command = Command::new(crate::harness::program());
        let port = self.port.to_string();
        command.args(["up", "--no-pull", "-d", file, "-P", &self.name, "--port", &port]);
        command.current_dir(self.app()).env("DOCKER_HOST", engine);
        command.env("DOCKER_CONFIG", self.docker_config.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn agentcli(&self, arguments: &[&str]) -> String {
        let output = self.run(crate::harness::program(), arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    }

    fn compose(&self, arguments: &[&str]) {
        let output = self.run("docker", &[&["compose", "-p", &self.name], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn environment(&self) -> Vec<String> {
        let container = format!("{}-langgraph-api-1", self.name);
        let text = docker(&host(), &["inspect", "-f", "{{json .Config.Env}}", &container]);
        serde_json::from_str(&text).unwrap()
    }

    fn answer(&self) -> String {
        let container = format!("{}-langgraph-api-1", self.name);
        let ask = "import urllib.request as u; print(u.urlopen('http://localhost:8000/ok').read().decode())";
        docker(&host(), &["exec", &container, "python3", "-c", ask])
    }

    fn left(&self) -> String {
        let filter = format!("label=com.docker.compose.project={}", self.name);
        let list = |what: &[&str]| docker(&host(), &[what, &["-q", "--filter", &filter]].concat());
        format!("{}{}{}", list(&["ps", "-a"]), list(&["network", "ls"]), list(&["volume", "ls"]))
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        self.run("docker", &["compose", "-p", &self.name, "down", "--volumes", "--timeout", "0"]);
        self.run("docker", &["rmi", "-f", &format!("{}-langgraph-api", self.name)]);
    }
}

/// What the file builds is what `build` builds, but for the Dockerfile that `build` puts beside the source.
#[test]
fn the_file_alone_builds_and_runs_the_setup() {
    let project = Project::new();
    fs::write(project.app().join(".env"), "SECRET=only here\n").unwrap();
    project.agentcli(&["compose", "../compose.yaml", "--port", &project.port.to_string()]);
    let file = project.directory.path().join("compose.yaml");
    project.compose(&["-f", file.to_str().unwrap(), "up", "--wait"]);
    assert!(project.answer().contains("true"));
    assert!(
        project.environment().contains(&"LANGSMITH_API_KEY=k$y".to_owned()),
        "{:?}",
        project.environment()
    );
    let container = format!("{}-langgraph-api-1", project.name);
    let files = docker(&host(), &["exec", &container, "find", "/deps/app", "-name", ".env"]);
    assert_eq!(files, "", "the .env file is no part of the image");
}

#[test]
fn services_of_the_users_own_run_beside_the_setup() {
    let project = Project::new();
    let config = fs::read_to_string(project.app().join("agent.json")).unwrap();
    let config = config.replacen('{', "{ \"env\": \".env\",", 1);
    fs::write(project.app().join("agent.json"), config).unwrap();
    fs::write(project.app().join(".env"), "PASSWORD=p$w0rd$$ ${NOT:-it's}\nGREETING=heard\n").unwrap();
    fs::write(project.directory.path().join("extra.yaml"), EXTRA).unwrap();
    let port = project.port.to_string();
    let up = ["up", "--no-pull", "--wait", "-d", "../extra.yaml", "-P", &project.name, "--port", &port];
    let said = project.agentcli(&up);
    assert!(
        project.environment().contains(&"PASSWORD=p$w0rd$$ it's".to_owned()),
        "{:?}",
        project.environment()
    );
    let written = fs::read_to_string(project.app().join(".agentcli/compose.yaml")).unwrap();
    for secret in ["w0rd", "k$y"] {
        assert!(!written.contains(secret) && !said.contains(secret), "{written}{said}");
    }
    let listener = format!("{}-listener-1", project.name);
    let heard = || docker(&host(), &["logs", &listener]);
    until(|| heard().contains("heard {\"ok\":true"), heard);
    // It reads neither file.
    for file in ["app/.agentcli/compose.yaml", "extra.yaml", "app/compose.yaml"] {
        fs::write(project.directory.path().join(file), "include: [oci://127.0.0.1:1/a/b]\nservices: [")
            .unwrap();
    }
    project.agentcli(&["down", "-d", "../extra.yaml", "-P", &project.name, "--volumes"]);
    assert_eq!(project.left(), "");
}

/// Once it is ready, Ctrl-C stops everything in order, and is no failure; the data stays.
#[test]
fn ctrl_c_stops_the_services_in_order() {
    let project = Project::new();
    fs::write(project.app().join("extra.yaml"), EXTRA.replace("${GREETING}", "heard")).unwrap();
    let mut up = Running::new(project.up(&host(), "extra.yaml").spawn().unwrap());
    up.until(|line| line.as_str().is_some_and(|line| line.starts_with("ready in ")));
    up.signal("-INT");
    assert_eq!(up.code(), 0);
    let filter = format!("label=com.docker.compose.project={}", project.name);
    let states = docker(&host(), &["ps", "-a", "--filter", &filter, "--format", "{{.State}}"]);
    assert!(
        states.lines().count() >= 3 && states.lines().all(|it| it == "exited" || it == "created"),
        "{states}"
    );
    let volumes = docker(&host(), &["volume", "ls", "-q", "--filter", &filter]);
    assert_eq!(volumes.trim(), format!("{}_langgraph-data", project.name));
}

/// It runs something else than a server. However far compose is when that is given up, nothing goes on.
#[test]
fn what_is_late_is_stopped() {
    let project = Project::new();
    fs::write(project.app().join("extra.yaml"), EXTRA.replace("${GREETING}", "heard")).unwrap();
    let port = project.port.to_string();
    let what = ["up", "--no-pull", "-d", "extra.yaml", "-P", &project.name, "--port", &port];
    let late = ["--image", "langchain/langgraph-debugger", "--wait-timeout", "4"];
    let output = project.run(crate::harness::program(), &[&what[..], &late].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the server does not answer after 4 s"), "{said}");
    let filter = format!("label=com.docker.compose.project={}", project.name);
    let states = docker(&host(), &["ps", "-a", "--filter", &filter, "--format", "{{.Names}} {{.State}}"]);
    assert!(!states.contains(" running"), "{states}");
}

#[test]
fn without_compose_it_is_said_what_to_do() {
    let project = Project::new();
    fs::write(project.app().join("extra.yaml"), EXTRA).unwrap();
    let mut command = Command::new(crate::harness::program());
    command.args(["up", "--no-pull", "-d", "extra.yaml"]).current_dir(project.app());
    let output = command.env("DOCKER_HOST", host()).env("PATH", "/nowhere").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("docker compose is needed") && said.contains("docker-compose-plugin"), "{said}");
    let nothing = project.run(crate::harness::program(), &["up", "-d", "nothing.yaml"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("there is no file"), "{nothing:?}");
}

#[test]
fn the_image_that_a_build_has_replaced_is_removed() {
    let project = Project::new();
    fs::write(project.app().join("extra.yaml"), IDLE).unwrap();
    let name = format!("{}-langgraph-api", project.name);
    // No other test builds the same image, which would keep a name.
    fs::write(project.app().join("src/hello/project.py"), format!("NAME = '{name}'\n")).unwrap();
    let id = || docker(&host(), &["images", "-q", "--no-trunc", &name]).trim().to_owned();
    let up = || {
        let mut up = Running::new(project.up(&host(), "extra.yaml").spawn().unwrap());
        up.until(|line| line.as_str().is_some_and(|line| line.starts_with("ready in ")));
        up.signal("-INT");
        assert_eq!(up.code(), 0);
    };
    up();
    let first = id();
    fs::write(project.app().join("src/hello/another.py"), "ANOTHER = 1\n").unwrap();
    up();
    assert_ne!(first, id());
    let all = docker(&host(), &["images", "-qa", "--no-trunc"]);
    assert!(!all.contains(&first), "{first}: {all}");
}
