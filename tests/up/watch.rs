//! Changes while it runs.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{Project, servers};
use crate::engine::{docker, try_docker};
use crate::harness::{program, until};
use crate::registry::Registry;

/// The image that the server runs.
fn image(project: &Project) -> String {
    let server = format!("{}-langgraph-api-1", project.name);
    docker(&project.host, &["inspect", "-f", "{{.Image}}", &server]).trim().to_owned()
}

fn until_gone(project: &Project, image: &str) {
    let is_gone = || try_docker(&project.host, &["image", "inspect", image]).is_err();
    until(is_gone, || format!("the image {image} is still there"));
}

#[test]
fn an_edit_is_taken_over_and_a_mistake_is_not() {
    let project = Project::new();
    project.edit("agent.json", "[\".\"]", "[\".\", \".\"]");
    let mut up = project.start(&["--watch"]);
    up.until_event("ready");
    assert_eq!(project.run(json!({ "name": "Ada" }))["version"], 1);
    let first = image(&project);

    project.edit("graph.py", "VERSION = 1", "VERSION = 2");
    let reloading = up.until_event("reloading");
    assert_eq!(reloading["changed"], json!(["graph.py"]));
    up.until_event("ready");
    let run = project.run(json!({ "name": "Ada" }));
    assert_eq!((&run["version"], &run["rows"]), (&json!(2), &json!(2)));
    let others = up.seen.iter().filter(|event| event["change"] == "recreated");
    assert!(others.clone().all(|event| event["service"] == "langgraph-api"), "{:#?}", up.seen);
    assert_eq!(others.count(), 1);
    // The image that it ran before is of no use any more.
    until_gone(&project, &first);

    // A build that fails, and a configuration that is wrong: the old server runs on.
    let config = fs::read_to_string(project.path("agent.json")).unwrap();
    project.edit("agent.json", "RUN sed", "RUN false; exit 1; sed");
    let kept = up.until_event("kept");
    assert!(kept["reason"].as_str().unwrap().contains("the build failed"), "{kept}");
    assert_eq!(project.run(json!({ "name": "Ada" }))["version"], 2);
    project.write("agent.json", "{");
    let kept = up.until_event("kept");
    assert!(kept["reason"].as_str().unwrap().contains("configuration"), "{kept}");
    assert_eq!(project.run(json!({ "name": "Ada" }))["version"], 2);

    // Mended, with another value. What was built before the step that changes is still known.
    let (seen, second) = (up.seen.len(), image(&project));
    project.edit("graph.py", "VERSION = 2", "VERSION = 3");
    project.write(".env", "PLAIN=other\n");
    project.write("agent.json", &config);
    up.until_event("reloading");
    up.until_event("ready");
    assert_eq!(project.run(json!({ "name": "Ada" }))["value"], "other");
    let is_install = |event: &&Value| event["name"].as_str().is_some_and(|it| it.contains("pip install"));
    let install = up.seen[seen..].iter().filter(is_install).map(|event| &event["id"]).next_back().unwrap();
    let is_done = |event: &&Value| event["event"] == "step_done" && event["id"] == *install;
    let done = up.seen[seen..].iter().rfind(is_done).unwrap();
    assert_eq!(done["cached"], true, "{:#?}", up.seen);
    until_gone(&project, &second);

    up.signal("-INT");
    assert_eq!(up.code(), 0);
    // What was wrong from the beginning was said once.
    let talk = up.talk();
    assert_eq!(talk.matches("duplicate-dependency").count(), 1, "{talk}");
    assert_eq!(project.running(), Vec::<String>::new());
}

/// The image of a registry, with this label.
fn push_base(project: &Project, name: &str, label: &str) {
    let directory = tempfile::tempdir().unwrap();
    let dockerfile = directory.path().join("Dockerfile");
    fs::write(&dockerfile, format!("FROM python:3.11-slim\nLABEL word={label}\n")).unwrap();
    let [dockerfile, directory] = [&*dockerfile, directory.path()].map(|it| it.display().to_string());
    docker(&project.host, &["build", "-q", "-t", name, "-f", &dockerfile, &directory]);
    docker(&project.host, &["push", "-q", name]);
    docker(&project.host, &["rmi", name]);
}

#[test]
fn another_locked_base_image_is_taken_over_and_a_stale_lock_is_not() {
    let project = servers::project();
    let registry = Registry::start_open();
    let base = format!("{}/base:1", registry.address);
    let options = ["--server", "memory", "--base-image", &base];
    let lock = |more: &[&str]| {
        let mut command = Command::new(program());
        command.arg("lock").args(more).args(options).current_dir(project.directory.path());
        assert!(command.status().unwrap().success(), "{more:?}");
    };
    let label = || {
        docker(&project.host, &["inspect", "-f", "{{.Config.Labels.word}}", &project.server()])
            .trim()
            .to_owned()
    };
    push_base(&project, &base, "one");
    lock(&[]);
    let mut up = project.start(&[&["--watch", "--locked"], &options[..]].concat());
    up.until_event("ready");
    assert_eq!(label(), "one");
    let first = image(&project);

    push_base(&project, &base, "two");
    lock(&["--upgrade"]);
    assert_eq!(up.until_event("reloading")["changed"], json!(["agent.lock"]));
    up.until_event("ready");
    assert_eq!(label(), "two");
    until_gone(&project, &first);

    // The lock file of another server, none, and one that is broken: the server runs on.
    let server = project.server();
    let text = fs::read_to_string(project.path("agent.lock")).unwrap();
    project.write("agent.lock", &text.replace("/base:1", "/other:1"));
    assert_eq!(up.until_event("kept")["reason"], "agent.lock is out of date");
    fs::remove_file(project.path("agent.lock")).unwrap();
    assert_eq!(up.until_event("kept")["reason"], "agent.lock is out of date");
    project.write("agent.lock", "version = 9\n");
    assert_eq!(up.until_event("kept")["reason"], "agent.lock cannot be used");
    assert_eq!(project.server(), server);
    project.write("agent.lock", &text);
    up.until_event("reloading");
    up.signal("-INT");
    assert_eq!(up.code(), 0);
    let talk = up.talk();
    for line in ["- ", "+ "].map(|sign| format!("  {sign}{base}")) {
        let shown = if line.starts_with("  -") { line.replace("/base:1", "/other:1") } else { line };
        assert!(talk.contains(&shown), "{shown}: {talk}");
    }
    assert!(talk.contains("run `agentcli lock --server memory --base-image"), "{talk}");
}
