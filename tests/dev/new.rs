//! The projects of `agentcli new`: their own tests, and a run of each graph without an API key.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Project;
use crate::harness::{TestEnv, python};
use crate::new::{EXAMPLES, Example};

/// The commands of a template's README that run its tests.
fn own_tests(template: &str) -> &'static [&'static [&'static str]] {
    match template {
        "javascript" => &[&["npm", "install"], &["npm", "test"], &["npm", "run", "typecheck"]],
        "monorepo" => &[&["uv", "run", "--all-packages", "pytest"]],
        _ => &[&["uv", "run", "pytest"]],
    }
}

/// Fails if the command does, or if it runs no tests.
fn run(directory: &Path, command: &[&str]) {
    let program = if command[0] == "uv" { python().with_file_name("uv") } else { command[0].into() };
    let mut running = Command::new(program);
    running.args(&command[1..]).current_dir(directory).env_remove("VIRTUAL_ENV").env("CI", "1");
    let output = running.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {text}");
    assert!(!text.contains("no tests ran") && !text.contains("# pass 0"), "{command:?}: {text}");
}

#[test]
fn projects_pass_their_tests_and_run_without_a_key() {
    let mut tested = BTreeSet::new();
    for Example { template, directory, graph, input, output } in EXAMPLES {
        let place = TempDir::new().unwrap();
        let created = TestEnv::inside(place.path()).run(&format!("new --template {template}"));
        assert_eq!(created.code, 0, "{template}: {}", created.err);
        if tested.insert(template) {
            own_tests(template).iter().for_each(|command| run(place.path(), command));
        }

        let program = crate::harness::program().into();
        let project = Project { program, directory: place, variables: Vec::new() };
        let dev = project.ready(&["-c", &format!("{directory}/agent.json")]);
        let input: Value = serde_json::from_str(input).unwrap();
        let answer = dev.call("POST", "/runs/wait", json!({ "assistant_id": graph, "input": input }));
        assert!(answer.to_string().contains(output), "{template}: {answer}");
        assert!(dev.stop("INT").success(), "{template}");
    }
}
