//! Signals in each phase of `up` and `down`.

use super::Project;
use crate::signals::{HangingEngine, Running, assert_stops};

/// A project whose commands reach the engine through a relay.
fn relayed(project: &mut Project, request: &'static str) -> HangingEngine {
    let relay = HangingEngine::start(&project.engine, request);
    project.host.clone_from(&relay.host);
    relay
}

#[test]
fn signals_end_every_wait_for_an_engine_that_hangs() {
    for (command, phase, request, arguments) in [
        ("up", "connecting", "/_ping", &["up"][..]),
        ("up", "waiting for the engine", "/containers/json", &["up"]),
        ("up", "building", "/build", &["up", "--no-pull"]),
        ("up", "pulling", "/images/create", &["up", "--image", "langchain/langgraph-api:3.11"]),
        ("up --wait", "starting", "/containers/create", &["up", "--no-pull", "--wait"]),
        ("down", "connecting", "/_ping", &["down"]),
        ("down", "waiting for the engine", "/containers/json", &["down"]),
    ] {
        let mut project = Project::new();
        let port = project.port.to_string();
        let start = || {
            let relay = relayed(&mut project, request);
            let port = if arguments[0] == "up" { &["--port", port.as_str()][..] } else { &[] };
            let running = Running::start(project.command(&[arguments, port].concat()));
            running.wait_for(phase, || relay.hangs()).with(relay)
        };
        assert_stops((command, phase, 130), start, |_| {});
        project.host.clone_from(&project.engine);
        assert_eq!(project.running(), Vec::<String>::new(), "{command}, {phase}");
    }
}

/// The engine is fine: everything is stopped, and the data stays.
#[test]
fn signals_stop_what_runs() {
    let project = Project::new();
    let check = |what: &str| {
        // Containers that the third signal has left behind are stopped here.
        if !what.contains("signals: 3") {
            assert_eq!(project.running(), Vec::<String>::new(), "{what}");
        }
        let volume = format!("volume {}_langgraph-data", project.name);
        assert!(project.left().contains(&volume), "{what}: {:?}", project.left());
        project.down(&[]);
    };
    let starting = || Running::start(project.up_command(&[])).until("\"change\":\"created\"");
    assert_stops(("up", "starting", 130), starting, check);
    let following = || Running::start(project.up_command(&[])).until("\"event\":\"ready\"");
    assert_stops(("up", "following logs", 0), following, check);
}

/// The engine hangs after the containers were started.
#[test]
fn signals_end_a_run_whose_containers_cannot_be_stopped() {
    let mut project = Project::new();
    let start = || {
        let relay = relayed(&mut project, "");
        let running = Running::start(project.up_command(&[])).until("\"event\":\"ready\"");
        relay.hang();
        running.with(relay)
    };
    assert_stops(("up", "following logs, then the engine hangs", 130), start, |what| {
        if what.contains("signals: 1") {
            assert!(what.contains("has not responded for 7 s"), "{what}");
            assert!(what.contains("run `agentcli down`") || what.contains("may still be running"), "{what}");
        }
    });
    let start = || {
        let relay = relayed(&mut project, "/stop");
        Running::start(project.command(&["down"])).wait_for("stopping", || relay.hangs()).with(relay)
    };
    assert_stops(("down", "stopping containers", 130), start, |_| {});
}
