//! From nothing to a run, over restarts, to no process left.

use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use super::{PATIENCE, Project, processes, signal_process};

/// The ids of the processes of a project whose command line has `part`.
fn ids(project: &Project, part: &str) -> Vec<u32> {
    let all = processes(project.directory.path());
    all.iter()
        .filter(|it| it.contains(part))
        .map(|it| it.split(' ').next().unwrap().parse().unwrap())
        .collect()
}

fn new_thread(dev: &super::Dev) -> String {
    dev.call("POST", "/threads", json!({}))["thread_id"].as_str().unwrap().to_owned()
}

/// Waits until the server, which writes its state every ten seconds, has written this thread.
fn wait_until_written(project: &Project, thread: &str) {
    // Pickle writes a UUID as a number, the last byte first.
    let mut id = hex::decode(thread.replace('-', "")).unwrap();
    id.reverse();
    let state = project.path(".langgraph_api/.langgraph_ops.pckl");
    let is_written = || fs::read(&state).is_ok_and(|text| text.windows(id.len()).any(|it| it == id));
    let deadline = Instant::now() + PATIENCE;
    while !is_written() {
        assert!(Instant::now() < deadline, "{} has no thread {thread}", state.display());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_project_runs_and_remembers_and_leaves_nothing_behind() {
    let project = Project::of("hello").variable("PYTHONDONTWRITEBYTECODE", "1");
    project.write(".gitignore", "/dist\n");
    let before = project.contents();
    let dev = project.ready_from_nothing(&[]);
    let events = dev.seen.iter().map(|event| &event["event"]);
    let first: Vec<&Value> = events.filter(|event| *event != "log" && *event != "note").collect();
    assert_eq!(
        [first[0], first[first.len() - 2], first[first.len() - 1]],
        ["provisioning", "starting", "ready"]
    );
    assert_eq!(dev.run(json!({ "name": "Ada" })), json!({ "name": "Ada", "greeting": "Hello, Ada!" }));
    let ready = dev.seen.last().unwrap().clone();
    assert_eq!(ready["docs"], json!(format!("{}/docs", dev.url())));
    assert_eq!(ready["studio"], json!(format!("https://smith.langchain.com/studio/?baseUrl={}", dev.url())));
    assert!(project.has_bytecode(".agentcli/python"), "each start compiles the packages");
    assert!(!project.has_bytecode("src"));
    let thread = new_thread(&dev);
    let run = json!({ "assistant_id": "agent", "input": { "name": "Grace" } });
    dev.call("POST", &format!("/threads/{thread}/runs/wait"), run);
    assert!(dev.stop("INT").success());
    assert_eq!(project.processes(), [""; 0]);

    let dev = project.ready_from_nothing(&["--no-reload"]);
    assert!(dev.seen.iter().all(|event| event["event"] != "provisioning"), "{:#?}", dev.seen);
    let state = dev.call("GET", &format!("/threads/{thread}/state"), Value::Null);
    assert_eq!(state["values"]["greeting"], "Hello, Grace!");
    assert!(dev.stop("TERM").success());
    assert_eq!(project.processes(), [""; 0]);
    assert_eq!(project.contents(), before, "files of the user were changed");
    for hidden in [".agentcli/.gitignore", ".langgraph_api/.gitignore"] {
        assert_eq!(project.read(hidden), "*\n");
    }
}

#[test]
fn no_process_outlives_the_program_whatever_ends_it() {
    let project = Project::of("hello");
    for signal in ["HUP", "KILL"] {
        let dev = project.ready(&[]);
        let deadline = Instant::now() + PATIENCE;
        while ids(&project, "agentcli guard ").len() != 2 {
            let all = processes(project.directory.path());
            assert!(Instant::now() < deadline, "not one server and one standby: {all:?}");
            thread::sleep(Duration::from_millis(20));
        }
        let thread = new_thread(&dev);
        dev.stop(signal);
        assert_eq!(project.processes(), [""; 0], "after {signal}");
        // The guard ends the server in order, so that even then it writes its state.
        let dev = project.ready(&[]);
        let found = dev.call("GET", &format!("/threads/{thread}"), Value::Null);
        assert_eq!(found["thread_id"], json!(thread), "after {signal}");
        dev.stop("INT");
    }
}

#[test]
fn a_server_that_is_killed_is_told_of_and_its_state_is_that_of_the_last_write() {
    let project = Project::of("hello");
    let mut dev = project.ready(&["--no-reload"]);
    let thread = new_thread(&dev);
    wait_until_written(&project, &thread);
    for id in ids(&project, "LANGSERVE\u{0}").into_iter().chain(ids(&project, "-P -c")) {
        if !processes(project.directory.path())
            .iter()
            .any(|it| it.starts_with(&format!("{id} ")) && it.contains(" guard "))
        {
            signal_process(id, "KILL");
        }
    }
    let crashed = dev.until("crashed");
    assert_eq!(crashed["status"], "signal 9");
    assert_eq!(dev.ended().code(), Some(1));
    dev.hear("error: the server ended with signal 9");
    assert_eq!(project.processes(), [""; 0]);
    let dev = project.ready(&[]);
    let found = dev.call("GET", &format!("/threads/{thread}"), Value::Null);
    assert_eq!(found["thread_id"], json!(thread));
    dev.stop("INT");
}

#[test]
fn one_project_is_run_once() {
    let project = Project::of("hello");
    let dev = project.ready(&[]);
    let (code, out, err) = project.fails(&["--no-browser"]);
    let wanted =
        format!("is already running (process {})\nhint: stop the other process first", dev.process.id());
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains(&wanted), "{err}");
    dev.stop("INT");
}

#[test]
fn a_server_that_does_not_end_is_ended_at_once_when_asked_again() {
    let project = Project::of("hello");
    let source = project.read("src/hello/graph.py");
    let stuck = "import asyncio\nfrom uvicorn.lifespan.on import LifespanOn\n\
                 LifespanOn.shutdown = lambda *_, **__: asyncio.sleep(600)\n";
    project.write("src/hello/graph.py", format!("{stuck}{source}"));
    let mut dev = project.ready(&["--no-reload"]);
    dev.signal("INT");
    assert_eq!(dev.until("note")["message"], "waiting for the server to exit; press Ctrl-C again to kill it");
    let asked = std::time::Instant::now();
    dev.signal("INT");
    assert!(dev.ended().success());
    // In order, it would have the ten seconds of its grace.
    assert!(asked.elapsed().as_secs() < 7, "{:?}", asked.elapsed());
    assert_eq!(project.processes(), [""; 0]);
}
