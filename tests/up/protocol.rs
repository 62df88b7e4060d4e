//! The checks of the server's protocol in the directory that AGENTCLI_PROTOCOL names, on servers that need no key.

use std::fs;
use std::process::Command;

use crate::engine::docker;
use crate::harness::{copy, outside};
use crate::up::Project;

/// A project with the checks' graphs, whose server runs.
fn running(server: &str) -> Project {
    let directory = outside("AGENTCLI_PROTOCOL");
    let project = Project::new();
    fs::remove_dir_all(project.path("")).ok();
    copy(&directory.join("project"), &project.path(""));
    fs::rename(project.path("langgraph.json"), project.path("agent.json")).unwrap();
    // Python 3.11 has no schema of the other one.
    project.edit("graph.py", "from typing import TypedDict", "from typing_extensions import TypedDict");
    project.edit("more.py", "from typing import TypedDict", "from typing_extensions import TypedDict");
    let up = project.up(&["--wait", "--server", server]);
    assert_eq!(up.code, 0, "{up:?}");
    project
}

/// The checks that the server at `url` fails, from beside the server of the project.
fn failed(project: &Project, url: &str) -> Vec<String> {
    of_answer(&project.python(&outside("AGENTCLI_PROTOCOL").join("sdk_checks.py"), url))
}

fn of_answer(answer: &str) -> Vec<String> {
    let failed: Vec<String> =
        answer.lines().filter_map(|line| line.strip_prefix("  - ")).map(str::to_owned).collect();
    assert!(answer.contains(&format!("ok {} of 78", 78 - failed.len())), "{answer}");
    failed
}

#[test]
fn the_server_in_memory_passes_all_checks_but_one() {
    let failed = failed(&running("memory"), "http://127.0.0.1:8000");
    assert!(failed.len() == 1 && failed[0].starts_with("threads.prune "), "{failed:?}");
}

#[test]
fn two_replicas_of_the_server_with_databases_pass_all_checks() {
    let project = running("pg");
    let (host, server) = (&project.host, project.server());
    // On the same loopback interface, where the checks wait for webhooks.
    let network = format!("container:{server}");
    let image = format!("{}-langgraph-api", project.name);
    let environment = docker(host, &["inspect", "-f", "{{range .Config.Env}}{{println .}}{{end}}", &server]);
    let mut command = vec!["run", "-d", "--network", &network];
    for line in environment.lines().filter(|line| !line.is_empty()) {
        command.extend(["-e", line]);
    }
    command.extend(["-e", "PORT=8001", &image]);
    let second = docker(host, &command);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/up/robin.py");
    docker(host, &["cp", program, &format!("{server}:/tmp/robin.py")]);
    let servers = ["127.0.0.1:8000", "127.0.0.1:8001"];
    docker(host, &[&["exec", "-d", &server, "python3", "/tmp/robin.py", "9000"], &servers[..]].concat());
    let failed = failed(&project, "http://127.0.0.1:9000");
    docker(host, &["rm", "-f", second.trim()]);
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn the_server_of_dev_with_databases_passes_all_checks() {
    let project = running("pg");
    docker(&project.host, &["stop", &project.server()]);
    let dev = project.dev();
    let python = project.path(".agentcli/python/bin/python");
    let checks = outside("AGENTCLI_PROTOCOL").join("sdk_checks.py");
    let output = Command::new(python).arg(checks).arg(dev.url()).output().unwrap();
    assert_eq!(of_answer(&String::from_utf8_lossy(&output.stdout)), Vec::<String>::new());
}
