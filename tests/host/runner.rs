//! The runner on a real engine: an archive becomes a server with its databases.

use std::fs;
use std::io::copy;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentcli::compiler::manifests::dockerignore::Ignore;
use agentcli::compiler::server::product::MEMORY;
use agentcli::context::Context;
use agentcli::engine::EngineEnv;
use agentcli_host::AllowedImages;
use agentcli_host::runner::{
    BuildJob, ContainerLimits, ContainerState, ContainerStatus, Databases, EngineRunner, Failure, Launch,
    LogSink, Options, Origin, PullFrom, PullJob, Runner, container_name, image_tag,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine::{docker, hosts, remove_labelled, try_docker};
use crate::harness::{fixtures, free_port};
use crate::host::service::Host;

/// Timeout for a server to become healthy.
pub(super) const READY: Duration = Duration::from_secs(300);

/// A host of its own on the first engine; nothing is left of it.
pub(super) struct OwnHost {
    pub(super) engine: String,
    pub(super) id: String,
    pub(super) directory: TempDir,
}

impl OwnHost {
    pub(super) fn new() -> Self {
        Self::on(hosts().remove(0))
    }

    pub(super) fn on(engine: String) -> Self {
        Self { engine, id: uuid(), directory: TempDir::new().unwrap() }
    }

    pub(super) fn runner(&self) -> EngineRunner {
        self.runner_with(Databases::new(None, None, b"key").unwrap())
    }

    pub(super) fn runner_with(&self, databases: Databases) -> EngineRunner {
        EngineRunner::new(self.options(databases)).unwrap()
    }

    pub(super) fn options(&self, databases: Databases) -> Options {
        Options {
            engine: EngineEnv { host: Some(self.engine.clone()), ..EngineEnv::default() },
            host: self.id.clone(),
            pull: false,
            allowed_images: AllowedImages::default(),
            environment: Vec::new(),
            builds: self.builds(),
            repository_limit: 1 << 30,
            databases,
            limits: ContainerLimits::default(),
            server: Default::default(),
        }
    }

    /// The directory of its builds.
    pub(super) fn builds(&self) -> PathBuf {
        self.directory.path().join("build")
    }

    pub(super) fn name(&self) -> String {
        format!("runner-{}", self.id)
    }

    /// An archive of a project.
    pub(super) async fn job(&self, project: &Path) -> BuildJob {
        let context = Context {
            root: project.to_owned(),
            ignore: Ignore::default(),
            extra: Vec::new(),
            configurations: vec!["agent.json".to_owned()],
        };
        let packed = context.list().unwrap().pack(1 << 20).await.unwrap();
        let archive = self.directory.path().join("source.tar.gz");
        copy(&mut packed.reader(), &mut fs::File::create(&archive).unwrap()).unwrap();
        let (config, tag) = ("agent.json".to_owned(), image_tag(&self.id, &self.name(), 1));
        let origin = Origin::Archive(Arc::new(fs::File::open(archive).unwrap()));
        let cache = format!("cache-{}", self.id);
        BuildJob { tag, cache, origin, config, install_command: None, build_command: None }
    }

    pub(super) fn launch(&self) -> Launch {
        Launch {
            deployment: format!("00000000-0000-4000-8000-{}", self.id),
            name: self.name(),
            revision: "revision".to_owned(),
            number: 1,
            replica: 0,
            image: image_tag(&self.id, &self.name(), 1),
            environment: vec![("PLAIN".to_owned(), "a secret".to_owned())],
            cpus: Some(1.5),
            memory: Some(512 << 20),
            grace: Duration::from_secs(20),
        }
    }

    pub(super) fn containers(&self) -> String {
        let label = format!("label=agentcli.host={}", self.id);
        docker(&self.engine, &["ps", "-a", "--filter", &label, "--format", "{{.Names}}"])
    }
}

impl Drop for OwnHost {
    fn drop(&mut self) {
        remove_labelled(&self.engine, &format!("agentcli.host={}", self.id));
        for number in 1..4 {
            try_docker(&self.engine, &["rmi", &image_tag(&self.id, &self.name(), number)]).ok();
        }
    }
}

/// Twelve digits that no earlier run has used.
fn uuid() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("{:012x}", since.as_nanos() as u64 & 0xffff_ffff_ffff)
}

pub(super) fn log() -> (LogSink, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = lines.clone();
    (Arc::new(move |_, line| kept.lock().unwrap().push(line.to_owned())), lines)
}

/// Waits until `is_done`.
pub(super) async fn until(what: &str, patience: Duration, is_done: impl Fn() -> bool) {
    let wait = async {
        while !is_done() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(patience, wait).await.unwrap_or_else(|_| panic!("{what} did not happen"));
}

/// Creates a container. While the databases start, the act fails and is tried again, as the reconciler does.
pub(super) async fn create(runner: &EngineRunner, launch: &Launch) {
    let start = Instant::now();
    loop {
        match runner.create(launch.clone()).await {
            Err(Failure::Unavailable(_)) if start.elapsed() < READY => {}
            created => return created.unwrap(),
        }
    }
}

async fn only(runner: &EngineRunner) -> ContainerStatus {
    let mut seen = runner.observe().await.unwrap();
    assert_eq!(seen.len(), 1, "{seen:?}");
    seen.remove(0)
}

async fn healthy(runner: &EngineRunner) -> SocketAddr {
    let start = Instant::now();
    loop {
        let seen = only(runner).await;
        if runner.probe(&seen).await {
            return seen.address.unwrap();
        }
        let lines = runner.last_lines(&seen.name, 30).await.unwrap().join("\n");
        assert!(start.elapsed() < READY && seen.state == ContainerState::Running, "{seen:?}\n{lines}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn run_graph(address: SocketAddr) -> Value {
    let text = post(address, "runs/wait");
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

/// The answer of a server to a run.
fn post(address: SocketAddr, path: &str) -> String {
    let body = json!({ "assistant_id": "agent", "input": { "name": "Ada" } }).to_string();
    let url = format!("http://{address}/{path}");
    let arguments = ["-sf", "-m", "60", "-H", "content-type: application/json", "-d", &body, &url];
    let output = Command::new("curl").args(arguments).output().unwrap();
    assert!(output.status.success(), "{path}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn archive_becomes_a_server_with_its_databases() {
    let host = OwnHost::new();
    let runner = host.runner();
    let (sink, lines) = log();
    let job = host.job(&fixtures("databases")).await;
    runner.build(job, sink).await.unwrap_or_else(|error| panic!("{error}\n{:#?}", lines.lock().unwrap()));
    let has = |text: &str| lines.lock().unwrap().iter().any(|line| line.contains(text));
    assert!(has("build context: ") && has("pip install"), "{:#?}", lines.lock().unwrap());

    let launch = host.launch();
    let name = container_name(&launch.name, 1, 0);
    for _ in 0..2 {
        // An act may be repeated.
        create(&runner, &launch).await;
    }
    assert_eq!(
        (only(&runner).await.state, only(&runner).await.name),
        (ContainerState::Created, name.clone())
    );
    runner.start(&name).await.unwrap();
    let address = healthy(&runner).await;
    assert!(address.ip().is_loopback());
    let version = runner.version(&only(&runner).await).await;
    assert!(
        version.as_ref().is_some_and(|it| it.starts_with(|first: char| first.is_ascii_digit())),
        "{version:?}"
    );
    let answer = run_graph(address);
    assert_eq!((&answer["rows"], &answer["value"]), (&json!(1), &json!("a secret")), "{answer}");
    // Limits, and the time to stop when the engine stops.
    let format =
        "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.Config.StopTimeout}}";
    let limits = docker(&host.engine, &["inspect", &name, "--format", format]);
    assert_eq!(limits.trim(), "1500000000 536870912 1024 20");

    runner.stop(&name, Duration::from_secs(20)).await.unwrap();
    assert!(matches!(only(&runner).await.state, ContainerState::Exited { ran, .. } if !ran.is_zero()));
    // The database outlives the container.
    runner.remove(&name).await.unwrap();
    create(&runner, &launch).await;
    runner.start(&name).await.unwrap();
    let address = healthy(&runner).await;
    assert_eq!(run_graph(address)["rows"], 2);
    // Threads and streams, with all the limits.
    let thread: Value = serde_json::from_str(&post(address, "threads")).unwrap();
    let stream = post(address, &format!("threads/{}/runs/stream", thread["thread_id"].as_str().unwrap()));
    assert!(stream.contains("event: values") && stream.contains(r#""rows":3"#), "{stream}");

    runner.stop(&name, Duration::from_secs(20)).await.unwrap();
    runner.remove(&name).await.unwrap();
    runner.forget(&launch.deployment).await.unwrap();
    runner.remove_image(&launch.image).await.unwrap();
    runner.remove_image(&launch.image).await.unwrap();
    assert_eq!(runner.observe().await.unwrap(), []);
    assert!(!host.containers().contains(&name));
    let images = docker(&host.engine, &["images", "-q", &launch.image]);
    assert_eq!(images, "");
    let databases =
        ["exec", &format!("agentcli-host-{}-langgraph-postgres", host.id), "psql", "-U", "postgres"];
    let names =
        docker(&host.engine, &[&databases[..], &["-Atc", "SELECT datname FROM pg_database"]].concat());
    assert!(!names.contains("agent_"), "{names}");
}

/// The server is reached by the address of the engine.
#[tokio::test]
async fn given_database_server_gets_a_database_for_each_deployment() {
    let host = OwnHost::new();
    let (label, port) = (format!("agentcli.host={}", host.id), free_port());
    let publish = format!("{port}:5432");
    let run = ["run", "-d", "--label", &label, "-p", &publish, "-e", "POSTGRES_PASSWORD=o:wn"];
    let given = docker(&host.engine, &[&run[..], &["pgvector/pgvector:pg16"]].concat());
    let exec = |command: &[&str]| try_docker(&host.engine, &[&["exec", given.trim()], command].concat());
    let psql = |sql: &str| exec(&["psql", "-Upostgres", "-Atc", sql]).unwrap();
    // Over TCP: during the first initialisation, a temporary server listens on the socket.
    until("the database", READY, || exec(&["pg_isready", "-h127.0.0.1"]).is_ok()).await;
    let gateway = ["network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"];
    let gateway = docker(&host.engine, &gateway);
    let uri = format!("postgres://postgres:o%3Awn@{}:{port}/postgres?sslmode=disable", gateway.trim());
    let runner = host.runner_with(Databases::new(Some(&uri), None, b"key").unwrap());
    let (sink, _) = log();
    runner.build(host.job(&fixtures("databases")).await, sink).await.unwrap();
    let launch = host.launch();
    let name = container_name(&launch.name, 1, 0);
    create(&runner, &launch).await;
    runner.start(&name).await.unwrap();
    assert_eq!(run_graph(healthy(&runner).await)["rows"], 1);
    let own = "SELECT count(*) FROM pg_database WHERE datname LIKE 'agent_%'";
    assert_eq!(psql(own).trim(), "1");
    // Databases that all have in common are not for roles of deployments.
    let variables = docker(&host.engine, &["exec", &name, "printenv", "POSTGRES_URI"]);
    for database in ["postgres", "template1"] {
        let (server, _) = variables.trim().rsplit_once('/').unwrap();
        let refused = exec(&["psql", "-Atc", "SELECT 1", &format!("{server}/{database}?sslmode=disable")]);
        assert!(
            refused.as_ref().is_err_and(|it| it.contains("permission denied for database")),
            "{refused:?}"
        );
    }
    runner.stop(&name, Duration::from_secs(20)).await.unwrap();
    runner.remove(&name).await.unwrap();
    runner.forget(&launch.deployment).await.unwrap();
    assert_eq!(psql(own).trim(), "0");
    // A superuser is not needed where the extension is in the template of new databases.
    exec(&["psql", "-Upostgres", "-dtemplate1", "-c", "CREATE EXTENSION IF NOT EXISTS vector"]).unwrap();
    psql("CREATE ROLE operator LOGIN CREATEDB CREATEROLE PASSWORD 'o:wn'");
    psql("CREATE DATABASE operator OWNER operator");
    let uri = uri.replace("postgres:o", "operator:o").replace("/postgres?", "/operator?");
    let runner = host.runner_with(Databases::new(Some(&uri), None, b"key").unwrap());
    create(&runner, &launch).await;
    assert_eq!(psql(own).trim(), "1");
    runner.remove(&name).await.unwrap();
    runner.forget(&launch.deployment).await.unwrap();
    assert_eq!(psql(own).trim(), "0");
    // Neither the password nor the role's is in the log of the engine.
    let logs = docker(&host.engine, &["logs", given.trim()]);
    assert!(!logs.contains("PASSWORD"), "{logs}");
}

#[tokio::test]
async fn a_server_that_keeps_its_own_state_has_one_replica() {
    let host = OwnHost::new();
    let options = host.options(Databases::new(None, None, b"key").unwrap());
    let runner = EngineRunner::new(Options { server: &MEMORY, ..options }).unwrap();
    let project = TempDir::new().unwrap();
    let agent = "from typing_extensions import TypedDict\n\nfrom langgraph.graph import StateGraph\n\n\n\
                 class State(TypedDict):\n    name: str\n\n\n\
                 graph = StateGraph(State).add_sequence([('greet', lambda state: {'name': 'Hello ' + state['name']})])\n\
                 graph = graph.add_edge('__start__', 'greet').compile()\n";
    let config = json!({ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }).to_string();
    for (name, text) in [("agent.json", &*config), ("agent.py", agent), ("requirements.txt", "")] {
        fs::write(project.path().join(name), text).unwrap();
    }
    let (sink, lines) = log();
    let built = runner.build(host.job(project.path()).await, sink).await;
    built.unwrap_or_else(|error| panic!("{error}\n{:#?}", lines.lock().unwrap()));
    let launch = host.launch();
    let name = container_name(&launch.name, 1, 0);
    create(&runner, &launch).await;
    runner.start(&name).await.unwrap();
    assert_eq!(run_graph(healthy(&runner).await), json!({ "name": "Hello Ada" }));
    let refused = runner.create(Launch { replica: 1, ..launch.clone() }).await.unwrap_err();
    let expected = "the server `memory` runs as one replica; set min_scale and max_scale to 1";
    assert_eq!(refused, Failure::Refused(expected.to_owned()));
    runner.stop(&name, Duration::from_secs(20)).await.unwrap();
    runner.remove(&name).await.unwrap();
    runner.forget(&launch.deployment).await.unwrap();
}

#[tokio::test]
async fn failed_step_is_a_reason_with_its_key() {
    let host = OwnHost::new();
    let project = TempDir::new().unwrap();
    let config = json!({
        "dependencies": ["."],
        "graphs": { "agent": "./agent.py:graph" },
        "dockerfile_lines": ["RUN echo the cause && exit 7"],
    });
    for (name, text) in [
        ("agent.json", config.to_string().as_str()),
        ("agent.py", "graph = object()\n"),
        ("requirements.txt", ""),
    ] {
        fs::write(project.path().join(name), text).unwrap();
    }
    let (sink, lines) = log();
    let failed = host.runner().build(host.job(project.path()).await, sink).await.unwrap_err();
    let Failure::Refused(reason) = &failed else { panic!("{failed:?}") };
    assert!(
        reason.contains("exit 7") && reason.ends_with("it comes from `/dockerfile_lines` of agent.json"),
        "{reason}"
    );
    assert!(lines.lock().unwrap().iter().any(|line| line == "the cause"));
}

#[tokio::test]
async fn missing_engine_and_missing_images_are_told_apart() {
    let host = OwnHost::new();
    let (sink, _) = log();
    let (image, tag) = ("localhost:1/none:1".to_owned(), "agentcli-host/none:1".to_owned());
    let job = PullJob { image, tag, from: PullFrom::Replacement };
    let missing = host.runner().pull(job, sink).await;
    assert!(
        matches!(&missing, Err(Failure::Refused(reason)) if reason.contains("cannot pull")),
        "{missing:?}"
    );
    let mut gone = OwnHost::new();
    gone.engine = "unix:///nowhere.sock".to_owned();
    assert!(matches!(gone.runner().observe().await, Err(Failure::Unavailable(_))));
}

/// Asks the server of a deployment through the proxy.
pub(super) fn ask(proxy: SocketAddr, host: &str) -> Option<Value> {
    let body = json!({ "assistant_id": "agent", "input": { "name": "Ada" } }).to_string();
    let (url, header) = (format!("http://{proxy}/runs/wait"), format!("host: {host}"));
    let arguments =
        ["-s", "-m", "60", "-H", "content-type: application/json", "-H", &header, "-d", &body, &url];
    let output = Command::new("curl").args(arguments).output().unwrap();
    serde_json::from_slice(&output.stdout).ok()
}

#[test]
fn archive_is_deployed_answers_at_its_host_and_is_rolled_back() {
    let engine = hosts().remove(0);
    let host = Host::on_engine(&engine);
    let own = OwnHost { engine: engine.clone(), id: host.id(), directory: TempDir::new().unwrap() };
    // The last one is dropped first: while the host runs, it may start its databases again.
    let (own, host) = (own, host);
    let project = TempDir::new().unwrap();
    crate::harness::copy(&fixtures("databases"), project.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let name = own.name();
    let creation = json!({
        "name": name,
        "source": "internal_source",
        "source_config": { "deployment_type": "dev" },
        "source_revision_config": {},
        "secrets": [],
    });
    let made = host.expect(201, "POST", "/v2/deployments", Some(&creation));
    let path = format!("/v2/deployments/{}", made["id"].as_str().unwrap());
    let revision = |deployment: &Value| {
        format!("{path}/revisions/{}", deployment["latest_revision_id"].as_str().unwrap())
    };
    let deploy = || {
        let place = host.expect(200, "POST", &format!("{path}/upload-url"), Some(&json!({})));
        runtime.block_on(own.job(project.path()));
        let archive = fs::read(own.directory.path().join("source.tar.gz")).unwrap();
        let url = place["upload_url"].as_str().unwrap();
        host.send("PUT", url, &[], Some(("application/gzip", archive))).unwrap();
        let config =
            json!({ "source_tarball_path": place["object_path"], "graph_config_path": "agent.json" });
        let patch = json!({ "revision_source": "internal_source", "source_revision_config": config });
        revision(&host.expect(200, "PATCH", &path, Some(&patch)))
    };
    let deployed = |revision: &str| {
        let deadline = Instant::now() + READY;
        loop {
            let record = host.expect(200, "GET", revision, None);
            match record["status"].as_str().unwrap() {
                "DEPLOYED" => return,
                status if status.ends_with("FAILED") || Instant::now() > deadline => panic!("{record}"),
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    let version = || ask(host.proxy(), &format!("{name}.localhost")).map(|answer| answer["version"].clone());

    let first = deploy();
    deployed(&first);
    assert_eq!(version(), Some(json!(1)));
    let graph = project.path().join("graph.py");
    let text = fs::read_to_string(&graph).unwrap().replace("VERSION = 1", "VERSION = 2");
    fs::write(&graph, text).unwrap();
    deployed(&deploy());
    assert_eq!(version(), Some(json!(2)));
    deployed(&revision(&host.expect(200, "POST", &format!("{first}/redeploy"), None)));
    assert_eq!(version(), Some(json!(1)));

    assert_eq!(host.ask("DELETE", &path, None).status, 204);
    let runner = own.runner();
    let deadline = Instant::now() + READY;
    let mut left = runtime.block_on(runner.observe()).unwrap();
    while !left.is_empty() {
        assert!(Instant::now() < deadline, "{left:?}");
        std::thread::sleep(Duration::from_millis(100));
        left = runtime.block_on(runner.observe()).unwrap();
    }
}
