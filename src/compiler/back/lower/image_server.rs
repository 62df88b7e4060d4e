//! The server in an image whose base image does not bring it: its packages, its directory and how it starts.

use crate::compiler::back::lower::tools::{Tools, prefixed, words};
use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Command};
use crate::compiler::paths;
use crate::compiler::product::{Installation, State};
use crate::compiler::server::{self, local};

/// Where the files of the server are.
const DIRECTORY: &str = "/api";

/// The requirements file of all packages.
const REQUIREMENTS: &str = "/api/requirements.txt";

/// The program that starts the server.
const START: &str = "/api/start";

/// The user and group that the server runs as, by number, so that an orchestrator knows that it is not root.
const USER: &str = "10001";

/// Time for open responses when the server is stopped, in seconds: less than the 10 after which engines kill it.
const GRACE: &str = "5";

/// Asks the server for its health.
const HEALTHCHECK: &[&str] = &[
    "import json, os, urllib.request",
    "prefix = json.loads(os.environ.get(\"LANGGRAPH_HTTP\") or \"{}\").get(\"mount_prefix\") or os.environ.get(\"MOUNT_PREFIX\", \"\")",
    "url = f\"http://127.0.0.1:{os.environ.get('PORT', '8000')}{prefix}/ok\"",
    "urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5)",
];

/// Installs the server in the current stage, first of all, so that all projects share the layer.
pub(super) fn install(input: &Input<'_>, build: &mut Build) {
    let Some(installation) = &input.config.server.installation else { return };
    let why = format!("the server: {}", installation.own.join(", "));
    let python = input.resolved.base_image.version.as_deref();
    let tools = Tools::for_server(input.resolved);
    let mut commands = vec![words(["mkdir", "-p", DIRECTORY])];
    commands.extend(files(installation, python));
    commands.push(tools.locked(REQUIREMENTS));
    build.step("/graphs", &why, tools.run(commands));
}

fn files(installation: &Installation, python: Option<&str>) -> Vec<Command> {
    let bounds = server::REQUIREMENTS.iter().map(|(name, bounds)| format!("{name}{bounds}"));
    let constraints = installation.own.iter().map(|&own| own.to_owned()).chain(bounds).collect();
    let healthcheck = HEALTHCHECK.iter().map(|&line| line.to_owned()).collect();
    let files = [
        (installation.requirements(python), REQUIREMENTS),
        (constraints, server::CONSTRAINTS),
        (healthcheck, "/api/healthcheck.py"),
        (start_program(installation), START),
    ];
    let write = |(lines, file): (Vec<String>, &str)| Command::Write { lines, file: file.to_owned() };
    files.into_iter().map(write).chain([words(["chmod", "+x", START])]).collect()
}

/// The lines of a shell program that becomes the server, so that the server gets the signals.
fn start_program(installation: &Installation) -> Vec<String> {
    let variables = installation.variables.iter().map(|(name, value)| format!("export {name}={value}"));
    let server = format!(
        "exec python3 -m uvicorn {} --host 0.0.0.0 --port \"${{PORT:-{}}}\" --no-access-log \
         --timeout-graceful-shutdown {GRACE}",
        local::APPLICATION,
        server::PORT
    );
    [String::from("#!/bin/sh")].into_iter().chain(variables).chain([server]).collect()
}

/// Adds how the container starts, last of all: every step before runs as root.
pub(super) fn start(input: &Input<'_>, build: &mut Build) {
    if input.config.server.installation.is_none() {
        return;
    }
    let check = serde_json::json!(server::HEALTHCHECK);
    let lines = vec![
        format!("USER {USER}:{USER}"),
        format!("EXPOSE {}", server::PORT),
        format!("HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD {check}"),
        format!("CMD [{START:?}]"),
    ];
    build.step("/graphs", "start of the server, as a user other than root", Action::Lines { lines });
}

/// Makes the user, and leads the state in the working directory to its volume.
pub(super) fn state(input: &Input<'_>, build: &mut Build) {
    let State::Directory { path, .. } = input.config.server.state else { return };
    let link = paths::join(&input.layout.project, local::STATE);
    let commands = vec![
        words(["groupadd", "--gid", USER, "agent"]),
        words(["useradd", "--uid", USER, "--gid", USER, "--create-home", "agent"]),
        words(["mkdir", "-p", path, &input.layout.project]),
        words(["chown", &format!("{USER}:{USER}"), path]),
        prefixed(&["ln", "-s", path], vec![link]),
    ];
    build.step("/graphs", "the state of the server", Action::Run { mounts: Vec::new(), commands });
}
