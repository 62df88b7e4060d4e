//! The output of other tools, which are fetched from their registries.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::engine::{hosts_for, output_in};
use crate::harness::{TestEnv, python};

/// The package and the name of a compiler of agents.
const MDA: [&str; 2] = ["managed-deepagents==0.10.0.dev19", "mda"];

/// Those of another server, whose configurations have the same keys.
const AEGRA: [&str; 2] = ["aegra-cli==0.6.0", "aegra"];

/// Runs a tool. False, and said aloud, where it cannot be had.
fn run([package, program]: [&str; 2], arguments: &[&str], directory: &Path) -> bool {
    let mut command = Command::new(python().with_file_name("uv"));
    command.args(["tool", "run", "--quiet", "--prerelease", "allow", "--from", package, program]);
    let output = command.args(arguments).current_dir(directory).output().unwrap();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let text = format!("left out: {package} does not run here: {why}\n");
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
    let init = ["init", "demo", "--instructions", "Say hello."];
    if !run(MDA, &init, root) || !run(MDA, &["build"], &root.join("demo")) {
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
        let place = output_in(&host, &["agentcli-test-compiled"], &["python3", "-c", show]);
        assert!(place.starts_with("/deps/app/__runtime__/"), "{place}");
    }
}

/// Its configuration lists `./src`, and the manifest with the requirements lies above.
#[test]
fn a_project_for_another_server_builds_as_its_finding_says() {
    let directory = TempDir::new().unwrap();
    if !run(AEGRA, &["init", "demo", "-t", "1", "-n", "My Agent"], directory.path()) {
        return;
    }
    let project = directory.path().join("demo");
    let config = project.join("aegra.json");
    let text = std::fs::read_to_string(&config).unwrap();
    for host in hosts_for("aegra") {
        let env = TestEnv::inside(&project).variable("DOCKER_HOST", &host);
        std::fs::write(&config, &text).unwrap();
        let found = env.run("validate aegra.json");
        assert_eq!(found.code, 0, "{}", found.out);
        assert!(found.out.contains("uninstalled-requirements"), "{}", found.out);
        assert!(found.out.contains("write `.` instead of it"), "{}", found.out);
        std::fs::write(&config, text.replace("\"./src\"", "\".\"")).unwrap();
        let built = env.run("build -c aegra.json -t agentcli-test-aegra --no-pull");
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let show = "import my_agent.graph; print(type(my_agent.graph.graph).__name__)";
        assert_eq!(
            output_in(&host, &["agentcli-test-aegra"], &["python3", "-c", show]).trim(),
            "CompiledStateGraph"
        );
    }
}
