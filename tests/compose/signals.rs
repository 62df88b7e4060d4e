//! Signals in each phase of `up` with services of the user.

use std::fs;

use super::run::{IDLE, Project, host};
use crate::engine::docker;
use crate::harness::until;
use crate::signals::{HangingEngine, Running, assert_stops};

fn up(project: &Project, engine: &str) -> Running {
    Running::start(project.up(engine, "extra.yaml"))
}

fn states(project: &Project) -> String {
    let filter = format!("label=com.docker.compose.project={}", project.name);
    docker(&host(), &["ps", "-a", "--filter", &filter, "--format", "{{.Names}} {{.State}}"])
}

/// Whether compose runs for the project.
fn is_composing(project: &Project) -> bool {
    let argument = format!("--project-name\0{}\0", project.name);
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let command =
        |process: fs::DirEntry| fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
    processes.map(command).any(|it| it.contains(&argument))
}

fn project() -> Project {
    let project = Project::new();
    fs::write(project.app().join("extra.yaml"), IDLE).unwrap();
    project
}

#[test]
fn signals_end_every_wait_for_an_engine_that_hangs() {
    for (phase, request) in [("waiting for the engine", "/containers/json"), ("building", "/build")] {
        let project = project();
        let start = || {
            let relay = HangingEngine::start(&host(), request);
            up(&project, &relay.host).wait_for(phase, || relay.hangs()).with(relay)
        };
        assert_stops(("up -d", phase, 130), start, |_| {});
        assert_eq!(states(&project), "", "{phase}");
    }
}

#[test]
fn signals_stop_what_runs() {
    let project = project();
    let check = |what: &str| {
        if !what.contains("signals: 3") {
            assert!(!states(&project).contains(" running"), "{what}: {}", states(&project));
        }
        let volumes = docker(&host(), &["volume", "ls", "-q"]);
        assert!(volumes.contains(&format!("{}_langgraph-data", project.name)), "{what}: {volumes}");
        // After the third signal, compose may still be stopping, and would stop what is started next.
        until(|| !is_composing(&project), || format!("{what}: {}", states(&project)));
        // A database that was killed while it created its files could not start from them again.
        let down = ["compose", "-p", &project.name, "down", "--timeout", "0", "--volumes"];
        let down = project.run("docker", &down);
        assert!(down.status.success(), "{what}: {}", String::from_utf8_lossy(&down.stderr));
    };
    let starting = || up(&project, &host()).wait_for("starting", || states(&project).contains(" running"));
    assert_stops(("up -d", "starting", 130), starting, check);
    let following = || up(&project, &host()).until("ready in ");
    assert_stops(("up -d", "following logs", 0), following, check);
}
