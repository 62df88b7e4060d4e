//! The phases that need a container engine.

use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{NOWHERE, PATIENCE, assert_stops, start};
use crate::engine::{docker, hosts};
use crate::host::service::Host;
use crate::registry::{PASSWORD, Registry};
use crate::ship::image::Image;
use crate::ship::registry::with_registry;
use crate::ship::{Stage, deployments, revisions};

/// A relay to an engine that hangs from the first request whose path contains `path`.
struct HangingEngine {
    address: String,
    hangs: Arc<AtomicBool>,
    _directory: tempfile::TempDir,
}

impl HangingEngine {
    fn start(engine: &str, path: &'static str) -> Self {
        let upstream = engine.trim_start_matches("unix://").to_owned();
        let directory = tempfile::TempDir::new().unwrap();
        let socket = directory.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let hangs = Arc::new(AtomicBool::new(false));
        let flag = hangs.clone();
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let (flag, upstream) = (flag.clone(), upstream.clone());
                thread::spawn(move || -> io::Result<()> {
                    let mut head = [0; 4096];
                    let read = client.read(&mut head)?;
                    if String::from_utf8_lossy(&head[..read]).contains(path) {
                        flag.store(true, Ordering::Relaxed);
                    }
                    if flag.load(Ordering::Relaxed) {
                        return io::copy(&mut client, &mut io::sink()).map(drop);
                    }
                    let mut server = UnixStream::connect(upstream)?;
                    server.write_all(&head[..read])?;
                    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
                    thread::spawn(move || io::copy(&mut from_client, &mut to_server));
                    io::copy(&mut server, &mut client).map(drop)
                });
            }
        });
        Self { address: format!("unix://{}", socket.display()), hangs, _directory: directory }
    }

    fn hangs(&self) -> bool {
        self.hangs.load(Ordering::Relaxed)
    }
}

#[test]
fn signals_end_every_wait_for_an_engine_that_hangs() {
    let engine = hosts().remove(0);
    let registry = Registry::start();
    let host = with_registry(&registry, PASSWORD);
    let stage = Stage::new(&host.url());
    let image = Image::make(&engine);
    let tag = format!("agentcli-test-signals-{}", std::process::id());
    let (build, deploy) = (format!("build -t {tag}"), "deploy --name x --no-remote".to_owned());
    let push = format!("deploy --name x --image {}", image.name);
    for (name, phase, path, arguments) in [
        ("build", "waiting for the engine", "/_ping", &build),
        ("build", "building", "/build", &build),
        ("deploy", "waiting for the engine", "/_ping", &deploy),
        ("deploy", "building", "/build", &deploy),
        ("deploy", "tagging", "/tag", &push),
        ("deploy", "pushing", "/push", &push),
    ] {
        let talks = assert_stops((name, phase), || {
            let hanging = HangingEngine::start(&engine, path);
            let running = start(&stage, &host.url(), &hanging.address, arguments);
            (running, Box::new(move || hanging.hangs()))
        });
        if ["tagging", "pushing"].contains(&phase) {
            assert!(talks[0].contains("removing the temporary tag"), "{phase}: {}", talks[0]);
        }
    }
    docker(&engine, &["images", "-q", &format!("{}/*/*", registry.address)]).lines().for_each(|id| {
        docker(&engine, &["rmi", "-f", id]);
    });
    assert!(deployments(&host).iter().all(|found| revisions(&host, found).is_empty()));
}

#[test]
fn signals_end_a_build_and_whatever_it_runs() {
    let engine = hosts().remove(0);
    let host = Host::start(|_| {});
    // A number that finds the step among all processes of the machine, and that no image has.
    let seconds = 1_000_000 + std::process::id();
    let step = format!("sleep {seconds}.{}", fastrand::u32(..));
    let config = serde_json::json!({
        "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "dockerfile_lines": [format!("RUN {step}")],
    });
    let stage = Stage::new(&host.url()).with(|env| env.file("agent.json", config.to_string()));
    let runs = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").trim_end() == step).count() > 0
    };
    let wait_for_the_end = || {
        let since = Instant::now();
        while runs() {
            assert!(since.elapsed() < PATIENCE, "the step of the interrupted build still runs");
            thread::sleep(Duration::from_millis(20));
        }
    };
    let build = format!("build --no-pull -t agentcli-test-signals-{seconds}");
    let deploy = "deploy --no-pull --name x --no-remote";
    for (name, arguments) in [("build", &*build), ("deploy", deploy)] {
        assert_stops((name, "running a step"), || {
            wait_for_the_end();
            (start(&stage, &host.url(), &engine, arguments), Box::new(runs))
        });
    }
    wait_for_the_end();
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
    let config = serde_json::json!({
        "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" },
        "base_image": format!("{address}/agents/server"),
    });
    let stage = Stage::new(NOWHERE).with(|env| env.file("agent.json", config.to_string()));
    assert_stops(("build", "pulling"), || {
        asked.store(false, Ordering::Relaxed);
        let running = start(&stage, NOWHERE, &engine, "build -t agentcli-test-signals-pull");
        (running, Box::new(|| asked.load(Ordering::Relaxed)))
    });
}
