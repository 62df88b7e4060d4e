//! The server in an image whose base image does not bring it: its packages, its directory and how it starts.

use serde_json::json;

use crate::back::lower::tools::{Tools, prefixed, words};
use crate::back::lower::{Build, Input, bytecode};
use crate::back::plan::{Action, Command};
use crate::paths;
use crate::server::product::{FILES, Installation, LABEL, SERVE, State, USER, VARIABLES};
use crate::server::{self, local, setup};

/// Where the files of the server are.
const DIRECTORY: &str = "/api";

/// The requirements file of all packages.
const REQUIREMENTS: &str = "/api/requirements.txt";

/// The program that starts the server.
const START: &str = "/api/start";

/// Time for open responses when the server is stopped, in seconds: with the 5 that it gives its runs then, less than the 10 after
/// which engines kill it.
const GRACE: &str = "3";

/// Installs the server in the current stage, first of all, so that all projects share the layer.
pub(super) fn install(input: &Input<'_>, build: &mut Build) {
    let Some(installation) = &input.config.server.installation else { return };
    let why = format!("the server: {}", installation.own.join(", "));
    let python = input.resolved.base_image.version.as_deref();
    let tools = Tools::for_server(input.resolved);
    let mut commands = vec![words(["mkdir", "-p", DIRECTORY])];
    commands.extend(files(installation, python));
    commands.push(tools.locked(REQUIREMENTS));
    commands.extend(bytecode::all());
    build.step("/graphs", &why, tools.run(commands));
    let variables = installation.defaults.iter().map(|&(name, value)| (name.to_owned(), value.into()));
    build.step("/graphs", &why, Action::Env { variables: variables.collect() });
}

fn files(installation: &Installation, python: Option<&str>) -> Vec<Command> {
    let bounds = server::REQUIREMENTS.iter().map(|(name, bounds)| format!("{name}{bounds}"));
    let constraints = installation.own.iter().map(|&own| own.to_owned()).chain(bounds).collect();
    let made = [
        (REQUIREMENTS, installation.requirements(python)),
        (server::CONSTRAINTS, constraints),
        (START, start_program(installation)),
    ];
    let given = FILES.iter().chain(installation.files);
    let given = given.map(|&(file, text)| (file, text.lines().map(str::to_owned).collect()));
    let write = |(file, lines): (&str, Vec<String>)| Command::Write { lines, file: file.to_owned() };
    made.into_iter().chain(given).map(write).chain([words(["chmod", "+x", START])]).collect()
}

/// The lines of a shell program that becomes the server, so that the server gets the signals.
fn start_program(installation: &Installation) -> Vec<String> {
    let variables = VARIABLES.iter().chain(installation.variables);
    let variables = variables.map(|(name, value)| format!("export {name}={value}"));
    let server = format!(
        "exec python3 {SERVE} {} --app-dir {DIRECTORY} --host 0.0.0.0 --port \"${{{}:-{}}}\" --no-access-log \
         --lifespan on --log-config {DIRECTORY}/logging.json --timeout-graceful-shutdown {GRACE}",
        installation.application,
        setup::PORT_VARIABLE,
        server::PORT
    );
    [String::from("#!/bin/sh")].into_iter().chain(variables).chain([server]).collect()
}

/// Adds how the container starts, last of all: every step before runs as root.
pub(super) fn start(input: &Input<'_>, build: &mut Build) {
    if input.config.server.installation.is_none() {
        return;
    }
    let check = json!(server::HEALTHCHECK);
    let lines = vec![
        format!("USER {USER}:{USER}"),
        format!("LABEL {LABEL}={}", input.config.server.name),
        format!("EXPOSE {}", server::PORT),
        format!("HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD {check}"),
        format!("CMD [{START:?}]"),
    ];
    build.step("/graphs", "start of the server, as a user other than root", Action::Lines { lines });
}

/// Makes the user, and leads the state in the working directory to its volume.
pub(super) fn user(input: &Input<'_>, build: &mut Build) {
    if input.config.server.installation.is_none() {
        return;
    }
    let user = USER.to_string();
    let mut commands = vec![
        words(["groupadd", "--gid", &user, "agent"]),
        words(["useradd", "--uid", &user, "--gid", &user, "--create-home", "agent"]),
    ];
    if let State::Directory { path, .. } = input.config.server.state {
        let link = paths::join(&input.layout.project, local::STATE);
        commands.extend([
            words(["mkdir", "-p", path, &input.layout.project]),
            words(["chown", &format!("{USER}:{USER}"), path]),
            prefixed(&["ln", "-s", path], vec![link]),
        ]);
    }
    build.step("/graphs", "the user of the server", Action::Run { mounts: Vec::new(), commands });
}
