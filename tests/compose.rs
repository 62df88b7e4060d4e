//! The compose file, held beside compose itself: the plugin of the newer test engine's root.

mod command;
mod run;
mod signals;
mod strings;

use std::collections::BTreeMap;
use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A directory for DOCKER_CONFIG in which the docker command finds compose.
pub(crate) fn docker_config() -> TempDir {
    let state = env::var_os("AGENTCLI_TEST_STATE").unwrap_or_else(|| "/var/tmp/agentcli-tests".into());
    let plugin = Path::new(&state).join("new/root/usr/libexec/docker/cli-plugins/docker-compose");
    assert!(plugin.exists(), "{}: not there; `tests/engine/up new` makes it", plugin.display());
    let directory = TempDir::new().unwrap();
    std::fs::create_dir(directory.path().join("cli-plugins")).unwrap();
    symlink(plugin, directory.path().join("cli-plugins/docker-compose")).unwrap();
    directory
}

/// Runs compose in `directory`, with these variables and none that could be set here.
fn compose(directory: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let config = docker_config();
    let mut command = Command::new("docker");
    command.arg("compose").args(arguments).current_dir(directory).env("DOCKER_CONFIG", config.path());
    for name in
        ["PLATFORM_API_KEY", "LANGSMITH_API_KEY", "POSTGRES_URI", "COMPOSE_PROJECT_NAME", "COMPOSE_FILE"]
    {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

/// What compose makes of a file; each `$` of a value is doubled in what it says.
fn config(directory: &Path, variables: &[(&str, &str)], file: &str) -> Result<Value, String> {
    let output = compose(directory, variables, &["-p", "any", "-f", file, "config", "--format", "json"]);
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

/// Variables of a service of what compose says, as the container gets them.
fn environment(config: &Value, service: &str) -> BTreeMap<String, String> {
    let variables = config["services"][service]["environment"].as_object().into_iter().flatten();
    variables
        .filter_map(|(name, value)| Some((name.replace("$$", "$"), value.as_str()?.replace("$$", "$"))))
        .collect()
}

/// Where a file of this test's own lies.
fn file(directory: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}
