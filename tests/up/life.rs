//! What should work.

use std::process::Command;

use serde_json::json;

use super::{Ended, Project};
use crate::engine::hosts_for;

const API: &str = "langgraph-api";
const REDIS: &str = "langgraph-redis";
const POSTGRES: &str = "langgraph-postgres";

/// What the real plugin says, where it is: beside the newer test engine, or the machine's own.
fn compose(project: &Project, arguments: &[&str]) -> String {
    let state = std::env::var("AGENTCLI_TEST_STATE").unwrap_or_else(|_| "/var/tmp/agentcli-tests".to_owned());
    let plugin = format!("{state}/new/root/usr/libexec/docker/cli-plugins/docker-compose");
    let own = std::path::Path::new(&plugin).is_file();
    let mut command = Command::new(if own { &plugin } else { "docker" });
    let before: &[&str] = if own { &[] } else { &["compose"] };
    let output = command.args(before).args(arguments).env("DOCKER_HOST", &project.host).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn assert_changes(up: &Ended, expected: [(&str, &[&str]); 3]) {
    for (service, changes) in expected {
        assert_eq!(up.changes(service), changes, "{service}: {up:#?}");
    }
}

#[test]
fn the_server_reaches_its_databases_and_only_what_changed_is_made_anew() {
    hosts_for("the server reaches its databases").iter().for_each(|engine| assert_lives(engine));
}

fn assert_lives(engine: &str) {
    let [project, other] = [(), ()].map(|()| Project::on(engine.to_owned()));
    let up = project.wait();
    assert_changes(&up, [API, REDIS, POSTGRES].map(|name| (name, &["created", "healthy"][..])));
    let ready = up.events.iter().find(|event| event["event"] == "ready").unwrap();
    assert_eq!(ready["api"], format!("http://127.0.0.1:{}", project.port));
    assert!(project.curl(&[], "/ok").is_some());
    let first = project.run(json!({ "name": "Ada" }));
    // The value is as `.env` has it, whatever stands in it.
    assert_eq!((&first["rows"], &first["count"]), (&json!(1), &json!(1)));
    assert_eq!(first["value"], r#"$HOME "as" it\is #1"#);

    // Nothing to do.
    let up = project.wait();
    assert_changes(&up, [API, REDIS, POSTGRES].map(|name| (name, &["unchanged", "healthy"][..])));

    // The real docker compose knows it.
    assert!(compose(&project, &["ls"]).contains(&project.name));
    let services = compose(&project, &["-p", &project.name, "ps", "--services"]);
    assert_eq!(services.lines().count(), 3, "{services}");

    // Another project beside it, with data of its own.
    other.wait();
    assert_eq!(other.run(json!({ "name": "Ada" }))["rows"], 1);

    // A changed value concerns the server alone; it stands in no output.
    project.edit(".env", "it\\is", "it-was-secret");
    let up = project.wait();
    assert_eq!(up.changes(API), ["recreated", "healthy"]);
    assert_eq!((up.changes(REDIS)[0], up.changes(POSTGRES)[0]), ("unchanged", "unchanged"));
    assert!(!format!("{up:?}").contains("it-was-secret"));
    let second = project.run(json!({ "name": "Ada" }));
    assert_eq!((&second["rows"], &second["count"]), (&json!(2), &json!(2)));
    assert!(second["value"].as_str().unwrap().contains("it-was-secret"));

    // Rows outlive the containers, and the other project does not notice.
    project.down(&[]);
    assert_eq!(project.left(), [format!("volume {}_langgraph-data", project.name)]);
    project.wait();
    assert_eq!(project.run(json!({ "name": "Ada" }))["rows"], 3);
    assert_eq!(other.running().len(), 3);

    // The real docker compose takes it away, but for what it would leave of its own.
    compose(&project, &["-p", &project.name, "down"]);
    assert_eq!(project.left(), [format!("volume {}_langgraph-data", project.name)]);
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
}

#[test]
fn a_service_of_the_users_own_is_reached_by_name() {
    let project = Project::new();
    let page = "services:\n  page:\n    image: langchain/langgraph-debugger\n";
    std::fs::write(project.path("more.yaml"), page).unwrap();
    let state = std::env::var("AGENTCLI_TEST_STATE").unwrap_or_else(|_| "/var/tmp/agentcli-tests".to_owned());
    let plugins = format!("{state}/new/root/usr/libexec/docker/cli-plugins");
    let path = format!("{}:{plugins}", std::env::var("PATH").unwrap());
    let output = project.up_command(&["--wait", "-d", "more.yaml"]).env("PATH", &path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = project.run(json!({ "name": "Ada", "fetch": "http://page:3968" }));
    assert_eq!(run["rows"], 1);
    assert!(run["fetched"].as_str().unwrap().contains("The server is at"), "{run}");
    let down =
        project.command(&["down", "-d", "more.yaml", "--volumes"]).env("PATH", &path).output().unwrap();
    assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
    assert_eq!(project.left(), Vec::<String>::new());
}
