//! The output of other compilers, which are fetched from their registries.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::engine::{docker, hosts_for};
use crate::harness::{TestEnv, python};

/// The package with the compiler.
const PACKAGE: &str = "managed-deepagents==0.10.0.dev19";

/// Runs the compiler. False, and said aloud, where it cannot be had.
fn run(arguments: &[&str], directory: &Path) -> bool {
    let mut command = Command::new(python().with_file_name("uv"));
    command.args(["tool", "run", "--quiet", "--prerelease", "allow", "--from", PACKAGE, "mda"]);
    let output = command.args(arguments).current_dir(directory).output().unwrap();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let text = format!("left out: {PACKAGE} does not run here: {why}\n");
        // The output of a test that passes is not shown.
        io::stderr().write_all(text.as_bytes()).unwrap();
    }
    output.status.success()
}

/// It requires a directory of its own by an absolute URL, and names the tag of an image that this engine does not have.
#[test]
fn a_compiled_agent_with_an_absolute_url_builds() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    if !run(&["init", "demo", "--instructions", "Say hello."], root) || !run(&["build"], &root.join("demo")) {
        return;
    }
    let compiled = root.join("demo/.mda/build");
    let manifest = std::fs::read_to_string(compiled.join("pyproject.toml")).unwrap();
    assert!(manifest.contains(" @ file:///"), "{manifest}");
    for host in hosts_for("compiled") {
        let env = TestEnv::inside(&compiled).variable("DOCKER_HOST", &host);
        let checked = env.run("validate langgraph.json");
        assert_eq!(checked.code, 0, "{}", checked.out);
        let image = "--base-image langchain/langgraph-api:3.11";
        let built = env.run(&format!("build -t agentcli-test-compiled --no-pull {image}"));
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let show = "import managed_deepagents; print(managed_deepagents.__file__)";
        let command = ["run", "--rm", "--entrypoint", "python3", "agentcli-test-compiled", "-c", show];
        let place = docker(&host, &command);
        assert!(place.starts_with("/deps/app/__runtime__/"), "{place}");
    }
}
