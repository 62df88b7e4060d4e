//! Requests while the server restarts: they wait for the next process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::standby::next_standby;
use super::{Dev, PATIENCE, Project, call, signal_process, until};

const GRAPH: &str = "src/hello/graph.py";

/// A client that creates threads all the time, each with a connection of its own.
pub(super) struct Client {
    is_done: Arc<AtomicBool>,
    /// The acknowledged threads; it panics at the first request without an answer.
    created: JoinHandle<Vec<String>>,
}

impl Client {
    pub(super) fn start(dev: &Dev) -> Self {
        let is_done = Arc::new(AtomicBool::new(false));
        let (ends, url) = (is_done.clone(), format!("{}/threads", dev.url()));
        let created = thread::spawn(move || {
            let mut created = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let thread = call("POST", &url, json!({}));
                created.push(thread["thread_id"].as_str().unwrap_or_else(|| panic!("{thread}")).to_owned());
                thread::sleep(Duration::from_millis(50));
            }
            created
        });
        Self { is_done, created }
    }

    /// Ends it, and checks that the server still has everything that it acknowledged.
    pub(super) fn assert_nothing_lost(self, dev: &Dev) {
        self.is_done.store(true, Ordering::Relaxed);
        let created = self.created.join().unwrap();
        assert!(created.len() > 2, "{created:?}");
        for id in created {
            let thread = dev.call("GET", &format!("/threads/{id}"), Value::Null);
            assert_eq!(thread["thread_id"], id, "{thread}");
        }
    }
}

/// Edits the greeting, and waits until a run gives the new one. Each run is answered.
fn edit(project: &Project, dev: &Dev, old: &str, new: &str) {
    project.edit(GRAPH, old, new);
    let deadline = Instant::now() + PATIENCE;
    while dev.run(json!({}))["greeting"] != format!("{new}, world!") {
        assert!(Instant::now() < deadline, "{new} is not served: {}", dev.talk());
    }
}

#[test]
fn requests_wait_while_the_server_restarts() {
    let project = Project::of("hello");
    let mut dev = project.ready(&["--host", "localhost"]);
    let client = Client::start(&dev);
    let first = next_standby(&project, &[]);
    edit(&project, &dev, "Hello", "One");
    // Without a standby.
    signal_process(next_standby(&project, &[first]), "KILL");
    edit(&project, &dev, "One", "Two");
    // Edits while the old server ends, while the new one starts, and at once afterwards.
    for (event, old, new) in [("reloading", "Two", "Three"), ("starting", "Three", "Four")] {
        dev.within(Duration::ZERO);
        project.edit(GRAPH, old, &format!("{new} at first"));
        dev.until(event);
        edit(&project, &dev, &format!("{new} at first"), new);
    }
    client.assert_nothing_lost(&dev);

    // Ctrl-C in the midst of a restart.
    let thread = dev.call("POST", "/threads", json!({}))["thread_id"].as_str().unwrap().to_owned();
    dev.within(Duration::ZERO);
    project.edit(GRAPH, "Four", "Five");
    dev.until("reloading");
    assert_eq!(dev.stop("INT").code(), Some(0));
    assert_eq!(project.processes(), [""; 0]);
    let dev = project.ready(&[]);
    assert_eq!(dev.run(json!({}))["greeting"], "Five, world!");
    assert_eq!(dev.call("GET", &format!("/threads/{thread}"), Value::Null)["thread_id"], thread);
    dev.stop("INT");
}

#[test]
fn nobody_waits_for_a_server_that_has_failed() {
    let project = Project::of("hello");
    // A standby would have kept the server.
    let mut dev = project.ready(&["--no-standby"]);
    let url = format!("{}/ok", dev.url());
    project.edit(GRAPH, "def greet(", "raise ValueError\ndef greet(");
    dev.until("crashed");
    let failed = thread::spawn(move || call("GET", &url, Value::Null)).join();
    assert!(failed.is_err(), "{failed:?}");
    project.edit(GRAPH, "raise ValueError\ndef greet(", "def greet(");
    dev.until("ready");
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.stop("INT");
}

/// The server gives open requests and runs their time before it writes its state.
#[test]
fn a_run_that_does_not_end_costs_no_state() {
    let project = Project::of("hello");
    project.edit(
        GRAPH,
        "    return",
        "    __import__('time').sleep(60 * ('slow' in state.get('name', '')))\n    return",
    );
    let dev = project.ready(&[]);
    let url = format!("{}/runs/wait", dev.url());
    let run = json!({ "assistant_id": "agent", "input": { "name": "slow" } });
    // It gets no answer, or a late one.
    let waiting = thread::spawn(move || call("POST", &url, run));
    let is_running = || {
        dev.call("POST", "/threads/search", json!({ "status": "busy" }))
            .as_array()
            .is_some_and(|it| it.len() == 1)
    };
    until(is_running, || dev.talk());
    let thread = dev.call("POST", "/threads", json!({}))["thread_id"].as_str().unwrap().to_owned();
    edit(&project, &dev, "Hello", "One");
    assert_eq!(dev.call("GET", &format!("/threads/{thread}"), Value::Null)["thread_id"], thread);
    drop(dev);
    waiting.join().ok();
}
