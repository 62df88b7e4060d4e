//! The labels by which docker compose knows a project, and our own.

/// The project's name.
pub(super) const PROJECT: &str = "com.docker.compose.project";
/// The service's name.
pub(super) const SERVICE: &str = "com.docker.compose.service";
/// Which of the service's containers it is, from 1.
pub(super) const NUMBER: &str = "com.docker.compose.container-number";
/// Whether it runs one command, beside the service.
pub(super) const ONE_OFF: &str = "com.docker.compose.oneoff";
/// The hash of the definition.
pub(super) const HASH: &str = "com.docker.compose.config-hash";
/// The image's id.
pub(super) const IMAGE: &str = "com.docker.compose.image";
/// What it is started after.
pub(super) const AFTER: &str = "com.docker.compose.depends_on";
/// The directory of the configuration.
pub(super) const DIRECTORY: &str = "com.docker.compose.project.working_dir";
/// The configuration.
pub(super) const FILES: &str = "com.docker.compose.project.config_files";
/// A network's name in the project.
pub(super) const NETWORK: &str = "com.docker.compose.network";
/// A volume's name in the project.
pub(super) const VOLUME: &str = "com.docker.compose.volume";
/// The version of what made it.
pub(super) const VERSION: &str = "com.docker.compose.version";
/// That `up` made it; its version.
pub(super) const OURS: &str = "agentcli.version";
/// That its image was built for it; the image's name.
pub(super) const BUILT: &str = "agentcli.built";

/// The value of both versions.
pub(super) const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A label.
pub(super) fn label(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// Those of everything in a project.
pub(super) fn of_project(project: &str) -> Vec<(String, String)> {
    vec![label(PROJECT, project), label(VERSION, OUR_VERSION), label(OURS, OUR_VERSION)]
}
