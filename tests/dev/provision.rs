//! Which environment the server runs in, and what is installed where.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::Project;
use crate::harness::python;

fn tool(name: &str) -> Command {
    Command::new(python().with_file_name(name))
}

fn program(dev: &super::Dev) -> String {
    dev.seen.iter().find_map(|event| event["program"].as_str()).unwrap().to_owned()
}

fn link_only(project: &Project, folder: &str, programs: &[&Path]) -> String {
    let folder = project.path(folder);
    fs::create_dir_all(&folder).unwrap();
    for program in programs {
        std::os::unix::fs::symlink(program, folder.join(program.file_name().unwrap())).unwrap();
    }
    folder.display().to_string()
}

/// What is installed in an environment; bytecode is not, for Python writes that whenever it runs.
fn installed(library: &Path) -> BTreeSet<OsString> {
    let python = fs::read_dir(library).unwrap().next().unwrap().unwrap();
    let packages = fs::read_dir(python.path().join("site-packages")).unwrap();
    packages.map(|entry| entry.unwrap().file_name()).filter(|name| name != "__pycache__").collect()
}

#[test]
fn an_environment_of_the_users_that_has_everything_is_used_and_not_changed() {
    let project = Project::of("hello").variable("PYTHONDONTWRITEBYTECODE", "1");
    let run = |command: &mut Command| {
        assert!(command.current_dir(project.directory.path()).status().unwrap().success())
    };
    run(tool("uv").args(["venv", "--quiet", ".venv"]));
    run(tool("uv").args(["pip", "install", "--quiet", "--python", ".venv/bin/python"]).args([
        "langgraph-api==0.16.7",
        "langgraph-runtime-inmem==0.36.7",
        "-e",
        ".",
    ]));
    let before = installed(&project.path(".venv/lib"));
    let dev = project.ready_from_nothing(&[]);
    assert_eq!(
        program(&dev),
        project
            .path(".venv/bin/python")
            .canonicalize()
            .map(|_| project.directory.path().canonicalize().unwrap().join(".venv/bin/python"))
            .unwrap()
            .display()
            .to_string()
    );
    assert!(dev.seen.iter().all(|event| event["event"] != "provisioning"));
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.stop("INT");
    assert!(!project.path(".agentcli/python").exists());
    assert_eq!(installed(&project.path(".venv/lib")), before);
    assert!(!project.has_bytecode(".venv"));
    // When something is taken out of it, it will not do any more.
    run(tool("uv").args([
        "pip",
        "uninstall",
        "--quiet",
        "--python",
        ".venv/bin/python",
        "langgraph-runtime-inmem",
    ]));
    let (code, _, err) = project.fails(&["--no-browser", "--no-install"]);
    assert_eq!(code, 1);
    assert!(err.contains("error: not installed: langgraph-runtime-inmem\nhint: omit --no-install"), "{err}");
}

/// A PATH with Debian's Python, and without uv.
fn without_uv(project: Project) -> Project {
    let path = link_only(&project, "tools", &[Path::new("/usr/bin/python3")]);
    project.variable("PATH", &format!("{path}:/usr/bin:/bin"))
}

#[test]
fn without_uv_it_is_installed_first() {
    let project = without_uv(Project::of("hello"));
    let mut dev = project.start(&[]);
    let said = dev.until("provisioning")["message"].as_str().unwrap().to_owned();
    assert_eq!(said, "server and packages into .agentcli/python (ignored by git) with uv");
    dev.until("ready");
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.stop("INT");
    assert!(project.path(".agentcli/uv/bin/uv").is_file());
    // The pip of that Python installs it, if it has one: another one takes seconds to install.
    let pip = Command::new("/usr/bin/python3").args(["-m", "pip", "--version"]).output().unwrap();
    assert_eq!(project.path(".agentcli/uv/bin/pip").exists(), !pip.status.success());
    assert!(!project.path(".agentcli/python/bin/pip").exists());
}

#[test]
fn pip_installs_one_version_of_the_server_if_uv_cannot_be_had() {
    let project = without_uv(Project::of("hello"));
    project.write("constraints.txt", "uv==0.0.0\n");
    let constraints = project.path("constraints.txt").display().to_string();
    let project = project.variable("PIP_CONSTRAINT", &constraints);
    let mut dev = project.start(&[]);
    let wanted = "cannot install uv, installing with pip instead: ResolutionImpossible";
    while !dev.until("note")["message"].as_str().unwrap().starts_with(wanted) {}
    let mut exact = ["langgraph-api==0.16.7", "langgraph-runtime-inmem==0.36.7"].to_vec();
    while !exact.is_empty() {
        let message = dev.until("provisioning")["message"].as_str().unwrap().to_owned();
        exact.retain(|package| message != format!("Collecting {package}"));
    }
    dev.signal("INT");
    assert_eq!(dev.ended().code(), Some(130));
}

#[test]
fn extras_and_groups_of_uv_sync_are_no_reason_to_install() {
    let project = Project::of("hello");
    let more = "\n[project.optional-dependencies]\nmore = ['orjson']\n\n[dependency-groups]\n\
                dev = ['langgraph-api==0.16.7', 'langgraph-runtime-inmem==0.36.7']\ntest = ['iniconfig']\n";
    project.write("pyproject.toml", project.read("pyproject.toml") + more);
    // uv also reads the options in such a file, not only the requirements.
    project.write(
        "libs/requirements.txt",
        "--index-url https://pypi.org/simple\n-e .\niniconfig>=1  # a tool\n",
    );
    project.edit("agent.json", "[\".\"]", "[\".\", \"./libs\"]");
    project.write("libs/lib.py", "");
    let sync = ["sync", "--quiet", "--all-extras", "--all-groups"];
    let status =
        tool("uv").args(sync).current_dir(project.directory.path()).env_remove("VIRTUAL_ENV").status();
    assert!(status.unwrap().success());
    assert!(!project.path(".venv/bin/pip").exists());
    let dev = project.ready_from_nothing(&["--no-install"]);
    assert!(program(&dev).ends_with("/.venv/bin/python"), "{}", program(&dev));
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.stop("INT");
}

/// At a terminal, which `script` makes.
#[test]
fn nobody_is_asked() {
    let project = Project::of("hello");
    let mut script = Command::new("script");
    let program = project.program.display();
    script.args(["-qefc", &format!("exec {program} dev --no-browser"), "/dev/null"]);
    script.current_dir(project.directory.path()).envs(
        project
            .command(&[])
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
    );
    script.env_remove("VIRTUAL_ENV").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = script.spawn().unwrap();
    let (mut input, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let mut shown = Vec::new();
    let mut bytes = [0; 1024];
    let mut is_stopped = false;
    while let Ok(length @ 1..) = output.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..length]);
        if !is_stopped && String::from_utf8_lossy(&shown).contains("server and packages") {
            input.write_all(b"\x03").unwrap();
            is_stopped = true;
        }
    }
    let shown = String::from_utf8_lossy(&shown);
    assert_eq!(script.wait().unwrap().code(), Some(130), "{shown}");
    assert!(is_stopped && !shown.contains('?'), "{shown}");
}

#[test]
fn directories_that_are_no_packages_are_imported_from() {
    for fixture in ["requirements-only", "flat-package"] {
        let project = Project::of(fixture);
        let dev = project.ready(&["--no-reload"]);
        let answer = dev.run(json!({}));
        assert!(answer.is_object() && answer.get("detail").is_none(), "{fixture}: {answer}");
        dev.stop("INT");
    }
}

#[test]
fn a_monorepos_packages_are_installed_in_place() {
    let project = Project::of("monorepo");
    let dev = project.ready(&["--no-reload", "-c", "apps/agent/agent.json"]);
    let answer = dev.run(json!({}));
    assert!(answer.is_object() && answer.get("detail").is_none(), "{answer}");
    dev.stop("INT");
    assert!(project.path("apps/agent/.agentcli").is_dir());
}

#[test]
fn a_dependency_may_be_a_link() {
    let project = Project::of("hello");
    project.write("real/linked_helper.py", "GREETING = 'Linked'\n");
    std::os::unix::fs::symlink("real", project.path("linked")).unwrap();
    project.edit("agent.json", "[\".\"]", "[\".\", \"./linked\"]");
    let graph = project.read("src/hello/graph.py");
    project.write("src/hello/graph.py", format!("import linked_helper\n{graph}"));
    let dev = project.ready(&["--no-reload"]);
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.stop("INT");
}

/// Questions are printed on stderr and answered on stdin: without a terminal there, nobody can answer.
#[test]
fn nothing_is_asked_without_a_terminal_on_stdin() {
    let project = Project::of("hello");
    project.write("tools/uv", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(project.path("tools/uv"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", project.path("tools").display(), std::env::var("PATH").unwrap());
    let mut script = Command::new("script");
    let run = format!("exec {} dev --no-browser </dev/null", project.program.display());
    script.args(["-qefc", &run, "/dev/null"]).current_dir(project.directory.path()).env("PATH", path);
    let output = script.env_remove("VIRTUAL_ENV").stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(!shown.contains("[Y/n]"), "{shown}");
    assert!(shown.contains("installing failed"), "{shown}");
}

#[test]
fn a_package_of_a_uv_workspace_runs_with_the_versions_of_its_lock() {
    let project = Project::of("uv-workspace");
    let dev = project.ready_from_nothing(&["--yes", "-c", "apps/agent/agent.json"]);
    assert_eq!(dev.run(json!({})), json!({ "said": "shared plain vendored 0.10.0 2.3.1" }));
    assert!(dev.stop("INT").success());
    let names = installed(&project.path("apps/agent/.agentcli/python/lib"));
    let is_locked = |name: &OsString| name.to_string_lossy().starts_with("idna-3.20.");
    assert!(names.iter().any(is_locked), "{names:?}");
}

/// A project with exactly this version of the graph library.
fn pinned(version: &str) -> Project {
    let project = Project::of("hello");
    let manifest = project.read("pyproject.toml");
    let old = manifest.lines().find(|line| line.starts_with("dependencies")).unwrap().to_owned();
    project.edit("pyproject.toml", &old, &format!("dependencies = ['langgraph=={version}']"));
    project
}

#[test]
fn an_older_server_is_installed_with_a_warning_that_names_the_reason() {
    let project = pinned("0.4.5");
    let dev = project.ready_from_nothing(&["--yes"]);
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    let warning = dev.seen.iter().find(|event| event["event"] == "warning").unwrap();
    let message = warning["message"].as_str().unwrap();
    for part in ["installed langgraph-api 0.4.48 instead of 0.16.7. Because ", "langgraph==0.4.5"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(dev.stop("INT").success());
}

/// Such a server would be installed with a runtime that it does not start with.
#[test]
fn requirements_that_only_untested_servers_meet_are_named() {
    let (code, _, err) = pinned("0.3.34").fails(&["--yes", "--no-browser"]);
    assert_eq!(code, 1);
    for part in
        ["langgraph==0.3.34", "hint: some requirements are incompatible; change them, or select another"]
    {
        assert!(err.contains(part), "{err}");
    }
}
