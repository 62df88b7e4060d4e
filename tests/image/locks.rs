//! Lock files in the image.

use std::fs;

use serde_json::json;

use super::{Container, Copy, executed, with_image, without_cache};
use crate::engine::hosts_for;
use crate::harness::TestEnv;

#[test]
fn a_package_of_a_uv_workspace_runs_with_the_versions_of_the_lock() {
    for host in hosts_for("uv-workspace") {
        let project = Copy::of("uv-workspace");
        let env =
            TestEnv::inside(&project.directory.path().join("apps/agent")).variable("DOCKER_HOST", &host);
        let built = env.run("build -t agentcli-test-uv --no-pull");
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let container = Container::start(&host, "agentcli-test-uv");
        assert_eq!(container.run("agent"), json!({ "said": "shared plain vendored 0.10.0 2.3.1" }));
        assert_eq!(container.shell("ls /deps/app/apps"), "agent\n");
        assert_eq!(
            container.shell("python3 -c 'import toml' 2>&1 | tail -1 | cut -d: -f1"),
            "ModuleNotFoundError\n"
        );

        // Another package of the workspace installs nothing again.
        fs::write(project.directory.path().join("apps/other/pyproject.toml"), "").unwrap();
        let again = env.run("build -t agentcli-test-uv --no-pull --progress json");
        assert_eq!(again.code, 0, "{}", again.err);
        assert_eq!(executed(&again.out), [""; 0]);
    }
}

#[test]
fn the_versions_of_a_lock_beside_a_manifest_are_installed() {
    with_image("uv-lock", |container| {
        assert_eq!(container.run("agent"), json!({ "said": "tabulate 0.8.10" }));
    });
}

/// `uv-lock` without the package that the server needs in another version.
fn fitting() -> Copy {
    let project = Copy::of("uv-lock");
    edit(&project, "pyproject.toml", &[("\"cloudpickle>=2\", ", "")], "");
    let required = "    { name = \"cloudpickle\", specifier = \">=2\" },\n";
    edit(&project, "uv.lock", &[("    { name = \"cloudpickle\" },\n", ""), (required, "")], "");
    project
}

fn edit(project: &Copy, file: &str, changes: &[(&str, &str)], end: &str) {
    let path = project.directory.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    let edited = changes.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to)) + end;
    assert_ne!(edited, text, "{file}");
    fs::write(path, edited).unwrap();
}

/// Requires packages, which the lock file has at these versions.
fn require(project: &Copy, packages: &[(&str, &str)]) {
    for (name, version) in packages {
        let listed = format!("\"tabulate>=0.8\", \"{name}\"");
        edit(project, "pyproject.toml", &[("\"tabulate>=0.8\"", &listed)], "");
        let named = format!("{{ name = \"{name}\" }},\n    {{ name = \"tabulate\"");
        let source = "source = { registry = \"https://pypi.org/simple\" }";
        let table = format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}\n");
        edit(project, "uv.lock", &[("{ name = \"tabulate\"", &named)], &table);
    }
}

/// The second installation, which resolves what the server needs, adds the local package only.
#[test]
fn a_lock_that_fits_the_server_is_installed_as_it_is() {
    let options = format!("-v {}", without_cache("fits"));
    for host in hosts_for("uv-lock") {
        let built = fitting().build(&host, "agentcli-test-fits", &options);
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let log = built.out + &built.err;
        let installed: Vec<&str> =
            log.lines().filter_map(|line| line.split_once("|  + ")).map(|it| it.1).collect();
        assert_eq!(installed, ["tabulate==0.8.10", "agent==0.1.0 (from file:///deps/app)"], "{log}");
        assert_eq!(log.matches(" Building agent @ ").count(), 1, "{log}");
    }
}

/// Its versions are preferred, and their hashes are those of the lock file.
#[test]
fn what_fits_of_a_lock_that_does_not_is_installed_once() {
    let options = format!("-v {}", without_cache("resolved"));
    let project = Copy::of("uv-lock");
    // The server does not work with this anyio, and its own asks for newer typing-extensions.
    require(&project, &[("anyio", "4.0.0"), ("typing-extensions", "4.15.0")]);
    for host in hosts_for("uv-lock") {
        let built = project.build(&host, "agentcli-test-resolved", &options);
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let log = built.out + &built.err;
        assert_eq!(log.matches("+ tabulate==0.8.10").count(), 1, "{log}");
        // Packages that do not fit are left out; the second installation lifts what they need of others.
        assert!(log.contains(" - typing-extensions==4.15.0"), "{log}");
        assert!(!log.contains(" anyio==") && !log.contains(" cloudpickle=="), "{log}");
    }
    edit(
        &project,
        "uv.lock",
        &[("sha256:0ba05542", "sha256:1ba05542"), ("sha256:6c57f3f3", "sha256:7c57f3f3")],
        "",
    );
    for host in hosts_for("uv-lock") {
        let built = project.build(&host, "agentcli-test-resolved", &options);
        assert_eq!(built.code, 1, "{}{}", built.out, built.err);
        assert!(built.err.contains("Hash mismatch for `tabulate==0.8.10`"), "{}", built.err);
    }
}

/// A package of the lock file that the server needs in a newer version, since langchain-core asks for `jsonpatch>=1.33`.
const OLD: &str = "
[[package]]
name = \"jsonpatch\"
version = \"1.32\"
source = { registry = \"https://pypi.org/simple\" }
wheels = [
    { url = \"https://files.pythonhosted.org/packages/jsonpatch-1.32-py2.py3-none-any.whl\", hash = \"sha256:26ac385719ac9f54df8a2f0827bb8253aa3ea8ab7b3368457bcdb8c14595a397\" },
]
";

/// The server itself, which the lock file holds for development.
const SERVER: &str = "
[[package]]
name = \"langgraph-api\"
version = \"0.16.5\"
source = { registry = \"https://pypi.org/simple\" }
";

#[test]
fn the_server_of_the_image_wins_over_a_lock_and_what_it_replaces_is_named() {
    // One conflict that is known before the build makes all be resolved before they are installed.
    for (name, project, key, value) in [
        ("uv", Copy::of("uv-lock"), "dependencies", json!(["."])),
        ("uv", fitting(), "dependencies", json!(["."])),
        ("pip", Copy::of("uv-lock"), "dependencies", json!(["."])),
        ("source", Copy::of("uv-lock"), "source", json!({ "kind": "uv", "root": "." })),
    ] {
        require_conflicting(&project);
        let installer = if name == "pip" { "pip" } else { "uv" };
        let graphs = json!({ "agent": "./src/agent/graph.py:graph" });
        let config = json!({ "graphs": graphs, "pip_installer": installer, key: value });
        fs::write(project.directory.path().join("agent.json"), config.to_string()).unwrap();
        for host in hosts_for(name) {
            let built = project.build(&host, "agentcli-test-replaced", &without_cache("replaced"));
            assert_eq!(built.code, 0, "{}{}", built.out, built.err);
            let warning = built.err.lines().find(|line| line.starts_with("warning: ")).unwrap_or_default();
            let text = "warning: the server needs other versions than the lock file has, and the image has these: jsonpatch 1.";
            let names_it = warning.starts_with(text) && warning.ends_with(" (locked: 1.32)");
            assert!(names_it, "{name}: {}", built.err);
            let note = "note: `langgraph-api==0.16.5` does not change the server: the image has its own";
            assert!(built.err.contains(note), "{name}: {}", built.err);
        }
    }
}

fn require_conflicting(project: &Copy) {
    let listed = "\"tabulate>=0.8\", \"jsonpatch>=1\", \"langgraph-api==0.16.5\"";
    edit(project, "pyproject.toml", &[("\"tabulate>=0.8\"", listed)], "");
    let named = "{ name = \"tabulate\" }, { name = \"jsonpatch\" }, { name = \"langgraph-api\" },";
    let required = "requires-dist = [{ name = \"jsonpatch\", specifier = \">=1\" }, \
                    { name = \"langgraph-api\", specifier = \"==0.16.5\" },";
    let changes = [("{ name = \"tabulate\" },", named), ("requires-dist = [", required)];
    edit(project, "uv.lock", &changes, &format!("{OLD}{SERVER}"));
}
