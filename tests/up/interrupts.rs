//! Ctrl-C at any moment, and several runs at once.

use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::Project;
use crate::engine::docker;

#[test]
fn ctrl_c_at_any_moment_leaves_nothing_that_a_second_run_cannot_repair() {
    let project = Project::new();
    // Moments that no two runs share.
    let mut moment = u64::from(std::process::id()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for longest in [400, 1500, 3000, 6000, 10_000, 14_000] {
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let after = (moment >> 33) % longest;
        let mut up = project.start(&[]);
        thread::sleep(Duration::from_millis(after));
        up.signal("-INT");
        // Before it listens for signals, the default handler ends it.
        let code = up.code();
        assert!([0, 130, -1].contains(&code), "{code} after {after} ms: {:#?}", up.seen);
        assert_eq!(project.running(), Vec::<String>::new(), "after {after} ms: {:#?}", up.seen);
        let containers = project.left().iter().filter(|line| line.contains("-langgraph-")).count();
        assert!(containers <= 3, "{:?}", project.left());
    }
    project.wait();
    assert_eq!(project.running().len(), 3);
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
}

/// Each that comes meanwhile waits, and then finds everything done; one that has enough of waiting changes nothing.
#[test]
fn two_runs_at_once_take_turns() {
    let project = Project::new();
    let mut first = project.start(&["--wait"]);
    first.until(|event| event["change"] == "created");
    let waits =
        |event: &Value| event["message"].as_str().is_some_and(|it| it.starts_with("waiting for another"));
    let (mut given_up, mut second) = (project.start(&["--wait"]), project.start(&["--wait"]));
    let said = given_up.until(waits);
    assert!(
        said["message"].as_str().unwrap().contains(&format!("(process {})", first.process.id())),
        "{said}"
    );
    second.until(waits);
    given_up.signal("-INT");
    assert_eq!(given_up.code(), 130);
    let server = second.until(|event| event["service"] == "langgraph-api");
    assert_eq!(server["change"], "unchanged");
    assert_eq!((first.code(), second.code()), (0, 0), "{:#?} {:#?}", first.seen, second.seen);
    assert_eq!(project.running().len(), 3);
    // No lock file is left.
    assert_eq!(std::fs::read_dir(project.cache.path().join("agentcli/turns")).unwrap().count(), 0);
}

#[test]
fn a_second_ctrl_c_does_not_wait() {
    let project = Project::new();
    let deaf = r#""RUN printf '#!/bin/sh\\ntrap : TERM\\nwhile :; do sleep 1; done\\n' >/storage/entrypoint.sh", "RUN sed"#;
    project.edit("agent.json", "\"RUN sed", deaf);
    let mut up = project.start(&[]);
    up.until(|event| event["service"] == "langgraph-api" && event["change"] == "created");
    let since = seconds();
    up.signal("-INT");
    // Two that arrive together count as one.
    thread::sleep(Duration::from_millis(500));
    up.signal("-INT");
    assert_eq!(up.code(), 130);
    // The grace period is five seconds. What counts is when the container ended: the rest depends on the machine.
    let container = format!("container={}-langgraph-api-1", project.name);
    let until = seconds() + 1;
    let span = ["events", "--since", &since.to_string(), "--until", &until.to_string()];
    let format = ["--filter", &container, "--format", "{{.Action}} {{.TimeNano}}"];
    let events = docker(&project.host, &[span.as_slice(), &format].concat());
    let at = |action: &str| {
        let found =
            events.lines().filter_map(|line| line.split_once(' ')).find(|(known, _)| *known == action);
        found.map(|(_, nanoseconds)| Duration::from_nanos(nanoseconds.parse().unwrap()))
    };
    let (asked, ended) = (at("kill").expect(&events), at("die").expect(&events));
    assert!(ended - asked < Duration::from_secs(4), "{events}");
    assert_eq!(project.running(), Vec::<String>::new());
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn down_waits_for_an_up_that_is_starting() {
    let project = Project::new();
    let mut up = project.start(&["--wait"]);
    up.until(|event| event["change"] == "created");
    let mut down = super::Running::new(project.command(&["down", "--json"]).spawn().unwrap());
    let note = down.until(|event| event["event"] == "note");
    assert!(note["message"].as_str().unwrap().starts_with("waiting for another `agentcli up`"), "{note}");
    assert_eq!((up.code(), down.code()), (0, 0), "{:#?} {:#?}", up.seen, down.seen);
    assert!(project.left().iter().all(|line| line.starts_with("volume")), "{:?}", project.left());
}

/// The image of the server, and whether the engine has an image.
fn images(project: &Project) -> (String, impl Fn(&str) -> bool) {
    let name = format!("{}-langgraph-api", project.name);
    let id = docker(&project.host, &["images", "-q", "--no-trunc", &name]).trim().to_owned();
    let exists =
        |id: &str| docker(&project.host, &["images", "-qa", "--no-trunc"]).lines().any(|it| it == id);
    (id, exists)
}

#[test]
fn a_run_that_ends_early_removes_the_image_that_it_has_replaced() {
    let project = Project::new();
    // Projects of the same content share an image.
    project.edit("agent.json", "\"RUN sed", &format!("\"RUN echo {}\", \"RUN sed", project.name));
    let mut up = project.start(&[]);
    up.until_event("ready");
    up.signal("-INT");
    assert_eq!(up.code(), 0);
    let (first, _) = images(&project);
    project.edit("agent.json", "\"RUN sed", "\"RUN echo second\", \"RUN sed");
    let mut up = project.start(&[]);
    up.until(|event| event["service"] == "langgraph-api" && event["change"] == "recreated");
    up.signal("-INT");
    assert_eq!(up.code(), 130);
    let (second, exists) = images(&project);
    assert_ne!(first, second);
    assert!(!exists(&first) && exists(&second), "{first} {second}");
}
