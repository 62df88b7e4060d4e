//! The checks of the server's protocol in the directory that AGENTCLI_PROTOCOL names, on servers that need no key.

use std::fs;

use crate::harness::{copy, outside};
use crate::up::Project;

/// The checks that a server fails.
fn failed(server: &str) -> Vec<String> {
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
    let answer = project.python(&directory.join("sdk_checks.py"));
    let failed: Vec<String> =
        answer.lines().filter_map(|line| line.strip_prefix("  - ")).map(str::to_owned).collect();
    assert!(answer.contains(&format!("ok {} of 78", 78 - failed.len())), "{answer}");
    failed
}

#[test]
fn the_server_in_memory_passes_all_checks_but_one() {
    let failed = failed("memory");
    assert!(failed.len() == 1 && failed[0].starts_with("threads.prune "), "{failed:?}");
}

#[test]
fn the_server_with_a_database_passes_all_checks() {
    assert_eq!(failed("pg-preview"), Vec::<String>::new());
}
