//! What goes wrong is said, and can be gone on from.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

use super::{Project, Running};
use crate::engine::docker;
use crate::harness::free_port;
use crate::signals::HangingEngine;

#[test]
fn an_engine_that_is_not_there() {
    let mut project = Project::new();
    project.host = "unix:///nowhere/docker.sock".to_owned();
    let up = project.up(&["--wait"]);
    assert_eq!(up.code, 4, "{up:?}");
    assert!(up.talk.contains("docker.sock`: no such socket"), "{}", up.talk);
}

#[test]
fn an_engine_that_hangs_is_given_up_after_a_deadline() {
    let mut project = Project::new();
    // One for each command: it hangs for all that use it, so that the slower one would not get as far.
    let relays = [(); 2].map(|()| HangingEngine::start(&project.engine, "/containers/json"));
    project.host.clone_from(&relays[0].host);
    let up = project.up_command(&["--wait"]).spawn().unwrap();
    project.host.clone_from(&relays[1].host);
    let down = project.command(&["down", "--json"]).spawn().unwrap();
    for process in [up, down] {
        let mut running = Running::new(process);
        assert_eq!(running.code(), 4);
        let talk = running.talk();
        assert!(talk.contains("did not list its containers within 30 s"), "{talk}");
        assert!(talk.contains("check that the engine responds"), "{talk}");
    }
}

#[test]
fn an_image_that_is_not_here() {
    let project = Project::new();
    let up = project.up(&["--wait", "--image", "agentcli-test-nowhere:1"]);
    assert_eq!(up.code, 1, "{up:?}");
    assert!(up.talk.contains("there is no image `agentcli-test-nowhere:1` here"), "{}", up.talk);
    assert!(up.talk.contains("docker pull agentcli-test-nowhere:1"), "{}", up.talk);
    assert_eq!(project.left(), Vec::<String>::new());
}

#[test]
fn a_port_that_is_taken_and_a_server_that_does_not_stay() {
    let mut project = Project::new();
    let listener = TcpListener::bind(("0.0.0.0", project.port)).unwrap();
    let up = project.up(&["--wait"]);
    assert_eq!(up.code, 1, "{up:?}");
    let said = format!("the service `langgraph-api` cannot open port {}: it is in use by ", project.port);
    assert!(up.talk.contains(&said), "{}", up.talk);
    assert!(up.talk.contains(&format!("(process {})", std::process::id())), "{}", up.talk);

    // By a container of another project, which is left alone.
    drop(listener);
    project.wait();
    let mut other = Project::new();
    other.port = project.port;
    let up = other.up(&["--wait"]);
    assert_eq!(up.code, 1, "{up:?}");
    let said = format!("it is in use by the container `{}-langgraph-api-1`", project.name);
    assert!(up.talk.contains(&said), "{}", up.talk);
    assert!(project.curl(&[], "/ok").is_some());

    // A running server is not given up for a port that it cannot have.
    let (server, engine) = (format!("{}-langgraph-api-1", project.name), project.host.clone());
    let id = || docker(&engine, &["inspect", "-f", "{{.Id}} {{.State.StartedAt}}", &server]);
    let before = id();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().port();
    let own = std::mem::replace(&mut project.port, taken);
    let up = project.up(&["--wait"]);
    project.port = own;
    assert_eq!(up.code, 1, "{up:?}");
    let said = format!("the service `langgraph-api` cannot open port {taken}: it is in use by ");
    assert!(up.talk.contains(&said), "{}", up.talk);
    assert_eq!(id(), before);
    assert!(project.curl(&[], "/ok").is_some());
    drop(listener);

    // A server that ends at once, with its last words.
    let ended = r#""RUN printf '#!/bin/sh\\necho last words\\nexit 3\\n' >/storage/entrypoint.sh", "RUN sed"#;
    project.edit("agent.json", "\"RUN sed", ended);
    let up = project.up(&["--wait"]);
    assert_eq!(up.code, 1, "{up:?}");
    assert!(up.talk.contains("the service `langgraph-api` ended with exit code 3"), "{}", up.talk);
    let failed = up.events.iter().find(|event| event["event"] == "failed").unwrap();
    assert_eq!(failed["last_lines"], serde_json::json!(["last words"]));

    // One that never gets well.
    project.edit("agent.json", "echo last words\\\\nexit 3", "echo here I am\\\\nsleep 1000");
    project.port = free_port();
    let up = project.up(&["--wait", "--wait-timeout", "20"]);
    assert_eq!(up.code, 1, "{up:?}");
    assert!(up.talk.contains("the service `langgraph-api` is not healthy after 20 s"), "{}", up.talk);
    assert!(up.events.iter().any(|event| event["last_lines"] == serde_json::json!(["here I am"])), "{up:?}");
}

/// An engine that can be taken away: everything goes through a socket of our own.
struct Proxy {
    directory: TempDir,
    streams: Arc<Mutex<Vec<UnixStream>>>,
}

impl Proxy {
    fn new(engine: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let listener = UnixListener::bind(directory.path().join("engine.sock")).unwrap();
        let engine = Path::new(engine.strip_prefix("unix://").unwrap()).to_owned();
        let streams: Arc<Mutex<Vec<UnixStream>>> = Arc::default();
        let known = streams.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = UnixStream::connect(&engine).unwrap();
                let clone = |stream: &UnixStream| stream.try_clone().unwrap();
                known.lock().unwrap().extend([clone(&client), clone(&server)]);
                let (back, forth) = ((clone(&server), clone(&client)), (client, server));
                for (from, to) in [back, forth] {
                    thread::spawn(move || forward(from, to));
                }
            }
        });
        Self { directory, streams }
    }

    fn host(&self) -> String {
        format!("unix://{}", self.directory.path().join("engine.sock").display())
    }

    fn end(&self) {
        std::fs::remove_file(self.directory.path().join("engine.sock")).unwrap();
        for stream in self.streams.lock().unwrap().drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

fn forward(mut from: UnixStream, mut to: UnixStream) -> io::Result<()> {
    let mut bytes = [0; 16384];
    loop {
        let length = from.read(&mut bytes)?;
        if length == 0 {
            return to.shutdown(Shutdown::Write);
        }
        to.write_all(&bytes[..length])?;
    }
}

#[test]
fn an_engine_that_is_lost_half_way() {
    let mut project = Project::new();
    let (engine, proxy) = (project.host.clone(), Proxy::new(&project.host));
    project.host = proxy.host();
    let mut up = project.start(&[]);
    up.until(|event| event["change"] == "created");
    proxy.end();
    assert_eq!(up.code(), 4);
    assert!(up.talk().contains("lost the connection to the container engine"), "{:#?}", up.seen);
    // The engine is back; what is there is used.
    project.host = engine;
    let again = project.wait();
    assert_eq!(again.changes("langgraph-redis")[0], "unchanged");
}

#[test]
fn what_runs_is_left_alone_by_whom_it_does_not_belong_to_and_by_a_build_that_fails() {
    let project = Project::new();
    project.wait();
    let mut other = Project::new();
    other.name.clone_from(&project.name);
    for more in [&["--wait"][..], &[]] {
        let up = other.up(more);
        assert_eq!(up.code, 1, "{up:?}");
        let said = format!("the project name `{}` is taken by the containers of", project.name);
        assert!(up.talk.contains(&said), "{}", up.talk);
        assert_eq!(project.running().len(), 3, "{up:?}");
    }
    // Where the name was not given to the command itself.
    let mut down = std::process::Command::new(crate::harness::program());
    down.args(["down", "--volumes"]).current_dir(other.path("."));
    let down =
        down.env("DOCKER_HOST", &other.host).env("COMPOSE_PROJECT_NAME", &project.name).output().unwrap();
    assert_eq!(down.status.code(), Some(1), "{down:?}");
    assert_eq!(project.running().len(), 3, "{down:?}");

    project.edit("agent.json", "\"RUN sed", "\"RUN exit 7\", \"RUN sed");
    let up = project.up(&[]);
    assert_eq!(up.code, 1, "{up:?}");
    assert_eq!(project.running().len(), 3, "{up:?}");
}
