//! The program as pip installs it.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::Project;
use crate::harness::python;
use crate::packaging::WHEEL;

#[test]
fn the_installed_program_runs_a_project() {
    let environment = TempDir::new().unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new(python()).args(["-m", "venv"]).arg(environment.path()));
    let pip = environment.path().join("bin/pip");
    run(Command::new(pip).args(["install", "--quiet", "--no-index"]).arg(&*WHEEL));
    let mut project = Project::of("hello");
    project.program = environment.path().join("bin/agentcli");
    let dev = project.ready(&[]);
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    assert!(dev.stop("INT").success());
    assert_eq!(project.processes(), [""; 0]);
}
