//! The server in an image whose base image does not bring it: its packages, its directory and how it starts.

use serde_json::json;

use crate::back::lower::tools::{Tools, prefixed, words};
use crate::back::lower::{Build, Input, bytecode};
use crate::back::plan::Action;
use crate::paths;
use crate::server::files::{DIRECTORY, REQUIREMENTS, SERVE, SUFFIX};
use crate::server::product::{LABEL, State, USER};
use crate::server::{self, local};

/// The directory of the server's files in the context, beside a Dockerfile beside the configuration.
pub(super) fn files(input: &Input<'_>) -> Option<String> {
    let is_installed = input.config.server.installation.is_some();
    is_installed.then(|| input.layout.in_context(&format!("Dockerfile{SUFFIX}")))
}

/// Installs the server in the current stage, first of all, so that all projects share the layer.
pub(super) fn install(input: &Input<'_>, build: &mut Build) {
    let Some(installation) = &input.config.server.installation else { return };
    let why = format!("the server: {}", installation.own.join(", "));
    let sources = files(input).into_iter().map(|it| format!("{it}/")).collect();
    build.step("/graphs", &why, Action::Copy { from: None, sources, target: format!("{DIRECTORY}/") });
    let tools = Tools::for_server(input.resolved);
    let mut commands = vec![tools.locked(&paths::join(DIRECTORY, REQUIREMENTS))];
    commands.extend(bytecode::all());
    build.step("/graphs", &why, tools.run(commands));
    let variables = installation.defaults.iter().map(|&(name, value)| (name.to_owned(), value.into()));
    build.step("/graphs", &why, Action::Env { variables: variables.collect() });
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
        format!("CMD {}", json!(["python3", paths::join(DIRECTORY, SERVE)])),
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
