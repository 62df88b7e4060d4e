//! Signals in each phase of `dev`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::{Project, processes};
use crate::signals::{Running, assert_stops};

fn command(project: &Project) -> Command {
    project.command_on_own_port(&["--json", "--no-browser", "--no-reload"])
}

/// Nothing that the command started is left, after a while for the guards.
fn assert_nothing_left(project: &Project, what: &str) {
    assert_eq!(project.processes(), [""; 0], "{what}");
}

#[test]
fn signals_end_an_installation() {
    let project = Project::of("hello");
    let tools = project.path("tools");
    project.write("tools/uv", "#!/bin/sh\ncase \"$1\" in venv) trap '' TERM; sleep 600;; *) exit 1;; esac\n");
    fs::set_permissions(tools.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let start = || {
        let mut command = command(&project);
        command.env("PATH", &path);
        let running = Running::start(command);
        running.wait_for("the installer", || {
            processes(project.directory.path()).iter().any(|it| it.contains("sleep 600"))
        })
    };
    assert_stops(("dev", "installing", 130), start, |what| assert_nothing_left(&project, what));
    assert!(!project.path(".agentcli/python/bin").exists());
}

#[test]
fn signals_end_a_server() {
    let project = Project::of("hello");
    let running = || Running::start(command(&project)).until("\"event\":\"ready\"");
    assert_stops(("dev", "running", 0), running, |what| assert_nothing_left(&project, what));

    let sleep = "import time\nprint('asleep', flush=True)\ntime.sleep(600)\nfrom typing";
    project.edit("src/hello/graph.py", "from typing", sleep);
    let starting = || Running::start(command(&project)).until("asleep");
    assert_stops(("dev", "starting", 130), starting, |what| assert_nothing_left(&project, what));
}
