//! Signals in each phase of `build`, `deploy` and `deploy logs`.

use std::fs::File;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use agentcli::api::wire::Redacted;
use agentcli::api::{Account, RetryPolicy, Vocabulary};
use agentcli::live::Stop;
use agentcli::ship::{Error, Service};
use serde_json::json;

use super::image::Image;
use super::registry::with_registry;
use super::{Stage, deployments, revisions};
use crate::engine::{docker, hosts};
use crate::harness::until;
use crate::host::service::{Host, KEY};
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry};
use crate::signals::{HangingEngine, Running, assert_stops};

/// An engine that is not there.
const NOWHERE: &str = "unix:///nowhere/engine.sock";

fn command(stage: &Stage, url: &str, engine: &str, arguments: &str) -> Command {
    let mut command = Command::new(crate::harness::program());
    command.args(arguments.split_whitespace()).current_dir(stage.env.path(""));
    command.env("AGENT_HOST_URL", url).env("AGENT_HOST_API_KEY", KEY).env("DOCKER_HOST", engine);
    command.env("XDG_CACHE_HOME", stage.env.path(".cache"));
    command
}

fn start(stage: &Stage, url: &str, engine: &str, arguments: &str) -> Running {
    Running::start(command(stage, url, engine, arguments))
}

/// Number of requests of this kind that a proxy has got.
fn requests(proxy: &Proxy, method: &str, path: &str) -> usize {
    let is_meant = |head: &&String| head.starts_with(method) && head.contains(path);
    proxy.heads().iter().filter(is_meant).count()
}

#[test]
fn signals_end_every_wait_for_an_engine_that_hangs() {
    let engine = hosts().remove(0);
    let registry = Registry::start();
    let host = with_registry(&registry, PASSWORD);
    let stage = Stage::new(&host.url());
    let image = Image::make(&engine);
    let build = format!("build -t agentcli-test-signals-{}", std::process::id());
    let deploy = "deploy --name x --no-remote".to_owned();
    let push = format!("deploy --name x --image {}", image.name);
    for (name, phase, request, arguments, note) in [
        ("build", "connecting", "/_ping", &build, ""),
        ("build", "building", "/build", &build, ""),
        ("deploy", "connecting", "/_ping", &deploy, ""),
        ("deploy", "building", "/build", &deploy, ""),
        ("deploy", "tagging", "/tag", &push, "removing the temporary tag"),
        ("deploy", "pushing", "/push", &push, "removing the temporary tag"),
    ] {
        let start = || {
            // A run that is killed leaves its tag, which the next one would restore.
            remove_tags(&engine, &registry);
            let relay = HangingEngine::start(&engine, request);
            let running = start(&stage, &host.url(), &relay.host, arguments);
            running.wait_for(phase, || relay.hangs()).with(relay)
        };
        assert_stops((name, phase, 130), start, |what| assert!(what.contains(note), "{what}"));
    }
    remove_tags(&engine, &registry);
    assert!(deployments(&host).iter().all(|found| revisions(&host, found).is_empty()));
}

/// Removes the names in the registry from the images on the engine.
fn remove_tags(engine: &str, registry: &Registry) {
    let names = format!("{}/*/*", registry.address);
    for name in docker(engine, &["images", "--format", "{{.Repository}}:{{.Tag}}", &names]).lines() {
        docker(engine, &["rmi", name]);
    }
}

#[test]
fn signals_end_a_build_and_whatever_it_runs() {
    let engine = hosts().remove(0);
    let host = Host::start(|_| {});
    // A number that finds the step among all processes of the machine, and that no image has.
    let number = 1_000_000 + std::process::id();
    let step = format!("sleep {number}.{}", fastrand::u32(..));
    let config = json!({
        "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "dockerfile_lines": [format!("RUN {step}")],
    });
    let stage = Stage::new(&host.url()).with(|env| env.file("agent.json", config.to_string()));
    let runs = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").trim_end() == step).count() > 0
    };
    let build = format!("build --no-pull -t agentcli-test-signals-{number}");
    let deploy = "deploy --no-pull --name x --no-remote";
    for (name, arguments) in [("build", &*build), ("deploy", deploy)] {
        let start = || start(&stage, &host.url(), &engine, arguments).wait_for("the step", runs);
        assert_stops((name, "running a step", 130), start, |what| {
            until(|| !runs(), || format!("the step still runs: {what}"));
        });
    }
    assert!(deployments(&host).is_empty());
}

/// The base image comes from a registry that accepts connections and never answers.
#[test]
fn signals_end_a_pull() {
    let engine = hosts().remove(0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicBool::new(false));
    let flag = asked.clone();
    thread::spawn(move || {
        // Open until the test ends.
        let mut clients = Vec::new();
        for client in listener.incoming().map_while(Result::ok) {
            clients.push(client);
            flag.store(true, Ordering::Relaxed);
        }
    });
    let config = json!({
        "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" },
        "base_image": format!("{address}/agents/server"),
    });
    let stage = Stage::new(NOWHERE).with(|env| env.file("agent.json", config.to_string()));
    let start = || {
        asked.store(false, Ordering::Relaxed);
        let running = start(&stage, NOWHERE, &engine, "build -t agentcli-test-signals-pull");
        running.wait_for("the pull", || asked.load(Ordering::Relaxed))
    };
    assert_stops(("build", "pulling", 130), start, |_| {});
}

#[test]
fn signals_end_every_wait_for_a_service_that_hangs() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let mut proxy = None;
    for (phase, method, path, hint) in [
        ("finding the deployment", "GET", "/v2/deployments?", ""),
        ("creating the deployment", "POST", "/v2/deployments", "`x` may have been created"),
        ("uploading", "PUT", "", ""),
        ("creating the revision", "PATCH", "", "a revision may have been created"),
        ("waiting for the revision", "GET", "/revisions/", "the revision continues"),
        ("following the build log", "POST", "/build_logs", "the revision continues"),
    ] {
        let start = || {
            let proxy = proxy.insert(Proxy::start(host.address()));
            proxy.fail(method, path, Fault::Hang, usize::MAX);
            let running = start(&stage, &proxy.url(), NOWHERE, "deploy --name x --remote --json");
            running.wait_for(phase, || requests(proxy, method, path) > 0)
        };
        assert_stops(("deploy", phase, 130), start, |what| {
            assert!(what.contains(hint) || what.contains("signals: 3"), "{what}");
        });
    }
    // A revision that was created stays.
    let [found] = &deployments(&host)[..] else { panic!("not one deployment") };
    let made = revisions(&host, found);
    assert_eq!(made.len(), 6, "{made:?}");
    assert!(made.iter().all(|it| it["status"] != "INTERRUPTED"), "{made:?}");
}

#[test]
fn signals_end_the_packing_of_a_large_tree() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    // Sparse: they take long to pack, and no room.
    for index in 0..8 {
        File::create(stage.env.path(&format!("{index}.bin"))).unwrap().set_len(1 << 30).unwrap();
    }
    let mut proxy = None;
    let start = || {
        let proxy = proxy.insert(Proxy::start(host.address()));
        let running = start(&stage, &proxy.url(), NOWHERE, "deploy --name x --remote");
        running.wait_for("packing", || proxy.forwarded("GET", "/v2/deployments?") > 0)
    };
    assert_stops(("deploy", "packing", 130), start, |_| {});
    assert!(deployments(&host).is_empty());
}

#[test]
fn signals_end_a_question() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let command = || command(&stage, &host.url(), NOWHERE, "deploy --name x --remote");
    let start = || Running::on_terminal(command()).until("Create it");
    assert_stops(("deploy", "prompting", 130), start, |_| {});
    assert!(deployments(&host).is_empty());
}

#[test]
fn signals_end_following_a_log() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    stage.events("--name x --remote");
    let mut proxy = None;
    for (phase, arguments, times, count) in [
        ("following", "deploy logs --name x --follow", 0, 2),
        ("waiting for the service", "deploy logs --name x", usize::MAX, 1),
    ] {
        let start = || {
            let proxy = proxy.insert(Proxy::start(host.address()));
            proxy.fail("POST", "/deploy_logs", Fault::Hang, times);
            let running = start(&stage, &proxy.url(), NOWHERE, arguments);
            running.wait_for(phase, || requests(proxy, "POST", "/deploy_logs") >= count)
        };
        assert_stops(("deploy logs", phase, 130), start, |_| {});
    }
}

#[test]
fn an_interrupted_client_stays_interrupted() {
    let account = Account {
        host: "http://127.0.0.1:1".to_owned(),
        key: Redacted::new(KEY),
        tenant: None,
        vocabulary: Vocabulary::Specification,
    };
    let stop = Stop::default();
    stop.raise();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut service = Service::new(account, RetryPolicy::default(), stop).unwrap();
    for _ in 0..2 {
        let called = runtime.block_on(service.call(async |client| client.push_token("x").await, drop));
        assert!(matches!(called, Err(Error::Interrupted(_))));
    }
}
