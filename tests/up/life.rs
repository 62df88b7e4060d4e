//! What should work.

use std::process::Command;

use serde_json::json;

use super::{Ended, Project};

const API: &str = "langgraph-api";
const REDIS: &str = "langgraph-redis";
const POSTGRES: &str = "langgraph-postgres";

/// What the real plugin says, where it is: beside the newer test engine, or the machine's own.
fn compose(project: &Project, arguments: &[&str]) -> String {
    let state = std::env::var("AGENTCLI_TEST_STATE").unwrap_or_else(|_| "/var/tmp/agentcli-tests".to_owned());
    let plugin = format!("{state}/new/root/usr/libexec/docker/cli-plugins/docker-compose");
    let own = std::path::Path::new(&plugin).is_file();
    let mut command = if own { Command::new(plugin) } else { Command::new("docker") };
    let output = command.arg("compose").args(arguments).env("DOCKER_HOST", &project.host).output().unwrap();
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
    let project = Project::new();
    let other = Project::new();
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
