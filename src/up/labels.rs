//! The labels by which docker compose knows a project, and our own.

/// The project's name.
pub(super) const PROJECT: &str = "com.docker.compose.project";
/// The service's name.
pub(super) const SERVICE: &str = "com.docker.compose.service";
/// The number of the container among those of its service, from 1.
pub(super) const NUMBER: &str = "com.docker.compose.container-number";
/// Whether the container runs a one-off command.
pub(super) const ONE_OFF: &str = "com.docker.compose.oneoff";
/// The hash of the definition.
pub(super) const HASH: &str = "com.docker.compose.config-hash";
/// The ID of the image.
pub(super) const IMAGE: &str = "com.docker.compose.image";
/// The services that it depends on.
pub(super) const AFTER: &str = "com.docker.compose.depends_on";
/// The directory of the configuration.
pub(super) const DIRECTORY: &str = "com.docker.compose.project.working_dir";
/// The configuration.
pub(super) const FILES: &str = "com.docker.compose.project.config_files";
/// A network's name in the project.
pub(super) const NETWORK: &str = "com.docker.compose.network";
/// A volume's name in the project.
pub(super) const VOLUME: &str = "com.docker.compose.volume";
/// The version of the program that created it.
pub(super) const VERSION: &str = "com.docker.compose.version";
/// The version of the `up` that created it.
pub(super) const OURS: &str = "agentcli.version";
/// The URL of the API, if the container is the server.
pub(super) const URL: &str = "agentcli.url";
/// The name of the image, if it was built for this project.
pub(super) const BUILT: &str = "agentcli.built";

/// The value of both versions.
pub(super) const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A label.
pub(super) fn label(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// The labels of everything in a project.
pub(super) fn of_project(project: &str) -> Vec<(String, String)> {
    vec![label(PROJECT, project), label(VERSION, OUR_VERSION), label(OURS, OUR_VERSION)]
}
