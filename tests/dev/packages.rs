//! How local packages get into the environment: by their own installation, or by the import path.

use std::process::Command;

use serde_json::json;

use super::Project;
use crate::harness::python;
use crate::harness::wheel::write_wheel;

const MANIFEST: &str = "[project]\nname = 'hello'\nversion = '1'\nrequires-python = '>=3.11'\n";

fn uv(project: &Project, arguments: &[&str]) {
    let mut uv = Command::new(python().with_file_name("uv"));
    let status = uv.args(arguments).current_dir(project.directory.path()).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

/// `uv sync` installs the requirements of such a project, and not the project itself.
#[test]
fn an_environment_of_a_project_that_is_not_installed_is_used() {
    let project = Project::of("hello");
    project.write("pyproject.toml", format!("{MANIFEST}dependencies = ['langgraph>=0.3']\n"));
    // setuptools would refuse two packages side by side.
    project.write("one/__init__.py", "").write("two/__init__.py", "");
    uv(&project, &["venv", "--quiet", ".venv"]);
    let server = ["langgraph-api==0.16.7", "langgraph-runtime-inmem==0.36.7"];
    let install = ["pip", "install", "--quiet", "--python", ".venv/bin/python", "-r", "pyproject.toml"];
    uv(&project, &[&install[..], &server].concat());
    let python = project.path(".venv/bin/python").display().to_string();
    for options in [&[][..], &["--no-install", "--python", &python]] {
        let dev = project.ready_from_nothing(options);
        assert!(dev.seen.iter().all(|event| event["event"] != "provisioning"), "{options:?}");
        assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
        dev.stop("INT");
    }
    assert!(!project.path(".agentcli/python").exists());
}

/// A name that no index has would fail if one were asked for it.
#[test]
fn local_requirements_are_installed_from_their_directories() {
    let hatch = "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n\
                 [tool.hatch.metadata]\nallow-direct-references = true\n";
    let project = Project::of("hello");
    let needs = "dependencies = ['langgraph>=0.3', 'agentcli-absent-one', 'agentcli-absent-two @ {root:uri}/libs/two']\n\
                 [tool.uv.sources]\nagentcli-absent-one = {path = 'libs/one'}\n";
    project.write("pyproject.toml", format!("{hatch}{MANIFEST}{needs}"));
    for name in ["one", "two"] {
        let wheel = format!("[tool.hatch.build.targets.wheel]\npackages = ['absent_{name}']\n");
        let manifest = format!("{hatch}{wheel}[project]\nname = 'agentcli-absent-{name}'\nversion = '1'\n");
        project.write(&format!("libs/{name}/pyproject.toml"), manifest);
        project.write(&format!("libs/{name}/absent_{name}/__init__.py"), "");
    }
    let graph = project.read("src/hello/graph.py");
    project.write("src/hello/graph.py", format!("import absent_one, absent_two\n{graph}"));
    let dev = project.ready(&[]);
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.stop("INT");
}

/// A name that no index has would fail if one were asked for it.
#[test]
fn an_archive_is_installed_from_its_file() {
    for installer in ["uv", "pip"] {
        let project = Project::of("hello");
        write_wheel(&project.path("dist"), "agentcli_absent_wheel");
        let source = "[tool.uv.sources]\nagentcli-absent-wheel = \
                      {path = 'dist/agentcli_absent_wheel-1.0-py3-none-any.whl'}\n";
        project.edit("pyproject.toml", "\"langgraph>=0.3\"", "\"langgraph>=0.3\", \"agentcli-absent-wheel\"");
        project.write("pyproject.toml", project.read("pyproject.toml") + source);
        project.edit(
            "agent.json",
            "\"dependencies\"",
            &format!("\"pip_installer\": \"{installer}\", \"dependencies\""),
        );
        let graph = project.read("src/hello/graph.py");
        project.write("src/hello/graph.py", format!("import agentcli_absent_wheel\n{graph}"));
        let dev = project.ready(&[]);
        assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
        dev.stop("INT");
    }
}
