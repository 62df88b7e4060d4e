//! What can go wrong, and what the user hears of it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Project, SERVER};

#[test]
fn a_broken_configuration_is_told_before_anything_starts() {
    let project = Project::of("hello");
    project.edit("agent.json", "graph.py:graph", "graph.py:grahp");
    let project = project.variable("PATH", "/nowhere");
    let (code, out, err) = project.fails(&["--no-browser"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error[undefined-name]"), "{err}");
    assert!(!project.path(".agentcli").exists());
}

#[test]
fn there_is_no_python() {
    let project = Project::of("hello").variable("PATH", "/nowhere");
    let (code, _, err) = project.fails(&["--no-browser"]);
    assert_eq!(code, 1);
    assert!(err.contains("error: no Python 3.11 or later found\nhint: install one"), "{err}");
}

/// No older Python than Debian's can be had here, so one that answers as an older one would stands in for it.
#[test]
fn the_python_is_too_old_or_none() {
    let project = Project::of("hello");
    for (name, answer) in
        [("python3", "echo '{\"version\": [3, 9, 1], \"missing\": []}'"), ("python", "exit 3")]
    {
        let path = project.path(&format!("tools/{name}"));
        project.write(&format!("tools/{name}"), format!("#!/bin/sh\n{answer}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let tools = project.path("tools").display().to_string();
    let project = project.variable("PATH", &tools);
    let (code, _, err) = project.fails(&["--no-browser"]);
    assert_eq!(code, 1);
    let wanted = format!("`{tools}/python3` is Python 3.9.1, `{tools}/python` fails with exit code 3\n");
    assert!(err.contains(&wanted), "{err}");
    let (_, _, err) = project.fails(&["--no-browser", "--python", "tools/nothing"]);
    assert!(err.contains("tools/nothing` fails with"), "{err}");
}

#[test]
fn there_is_no_network() {
    let project = Project::of("hello").variable("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple");
    let project = project.variable("UV_NO_CACHE", "1").variable("UV_HTTP_RETRIES", "0");
    let (code, _, err) = project.fails(&["--no-browser"]);
    assert_eq!(code, 1);
    assert!(err.contains("error: installing failed: uv pip install ended with exit code"), "{err}");
    assert!(err.contains("hint: the package index cannot be reached"), "{err}");
    // Nothing is known of what was not finished: the next start goes on.
    let mut project = project;
    project.variables.clear();
    project.ready(&[]).stop("INT");
}

#[test]
fn a_dependency_does_not_install() {
    let project = Project::of("hello");
    project.edit("pyproject.toml", "dependencies = [", "dependencies = [\"agentcli-no-such-package==1\", ");
    let (code, _, err) = project.fails(&["--no-browser"]);
    assert_eq!(code, 1);
    assert!(err.contains("agentcli-no-such-package"), "{err}");
    assert!(err.contains("hint: some requirements are incompatible"), "{err}");
}

#[test]
fn a_graph_raises_when_it_is_imported() {
    let project = Project::of("hello");
    project.edit("src/hello/graph.py", "from typing", "raise ValueError('not today')\nfrom typing");
    let mut dev = project.start(&["--no-reload"]);
    let crashed = dev.until("crashed");
    assert_eq!(crashed["cause"], "src/hello/graph.py:3: ValueError: not today");
    assert_eq!(dev.ended().code(), Some(1));
    dev.hear("src/hello/graph.py:3: ValueError: not today");
    // No place in the project is named where the server refuses a graph.
    project.edit(
        "src/hello/graph.py",
        "raise ValueError('not today')\n",
        "from langgraph.checkpoint.memory import MemorySaver\n",
    );
    project.edit("src/hello/graph.py", ".compile()", ".compile(checkpointer=MemorySaver())");
    let mut dev = project.start(&["--no-reload"]);
    let crashed = dev.until("crashed");
    assert!(crashed["cause"].as_str().unwrap().contains("checkpointer"), "{crashed:#}");
    assert_eq!(dev.ended().code(), Some(1));
}

/// The configuration is in a directory without a manifest, and `validate` does not follow the import of an import.
#[test]
fn a_module_of_the_project_above_is_named() {
    let project = Project::of("hello");
    project
        .write(".git/HEAD", "")
        .write("server/helper.py", "import hello.graph\n\ngraph = hello.graph.graph\n");
    project.write("server/agent.py", "from helper import graph\n");
    let config = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}"#;
    project.write("server/agent.json", config);
    let python = SERVER.path().join("python/bin/python").display().to_string();
    let arguments = ["--no-reload", "--no-install", "--config", "server/agent.json", "--python", &python];
    let mut dev = project.start(&arguments);
    let crashed = dev.until("crashed");
    assert_eq!(crashed["cause"], "helper.py:1: ModuleNotFoundError: No module named 'hello'", "{crashed:#}");
    let hint = "`hello` comes with `../pyproject.toml`: write `\"dependencies\": [\".\", \"..\"]`";
    assert_eq!(crashed["hint"], hint);
    assert_eq!(dev.ended().code(), Some(1));
    dev.hear(hint);
}

#[test]
fn a_taken_port_is_an_error_that_names_who_holds_it() {
    let project = Project::of("hello");
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let (code, _, err) = project.fails(&["--no-browser", "--port", &port]);
    assert_eq!(code, 1);
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    let wanted = format!(
        "error: cannot listen on 127.0.0.1:{port}: it is in use by {} (process {})",
        name.trim(),
        std::process::id()
    );
    assert!(err.contains(&wanted), "{wanted}\n{err}");
    assert!(err.contains("hint: stop it, or choose another port with --port"), "{err}");
    let (_, _, err) = project.fails(&["--no-browser", "--host", "192.0.2.1", "--port", &port]);
    assert!(err.contains("this machine does not have this address"), "{err}");
}

#[test]
fn state_that_cannot_be_read_is_kept_and_told_of() {
    let project = Project::of("hello");
    for file in [".langgraph_ops.pckl", ".langgraph_retry_counter.pckl"] {
        project.write(&format!(".langgraph_api/{file}"), "no pickle");
    }
    let mut dev = project.ready(&[]);
    assert!(
        dev.seen.iter().any(|event| event["event"] == "warning"
            && event["message"]
                .as_str()
                .unwrap()
                .contains("the old files are in .agentcli/state-unreadable")),
        "{:#?}",
        dev.seen
    );
    assert_eq!(project.read(".agentcli/state-unreadable/.langgraph_ops.pckl"), "no pickle");
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    dev.within(Duration::ZERO);
    dev.stop("INT");
    let project = Project::of("hello");
    project.write(".langgraph_api", "a file");
    let (code, _, err) = project.fails(&["--no-browser"]);
    assert_eq!(code, 1);
    assert!(err.contains(".langgraph_api`: "), "{err}");
}

#[test]
fn a_failed_run_is_not_taken_for_the_cause_of_a_crash() {
    let project = Project::of("hello");
    project.edit("src/hello/graph.py", "    return {", "    raise ValueError('a run')\n    return {");
    let mut dev = project.ready(&["--no-reload"]);
    dev.run(json!({}));
    let server = super::processes(project.directory.path())
        .into_iter()
        .find(|it| it.contains(" -P -c ") && !it.contains(" guard "));
    super::signal_process(server.unwrap().split(' ').next().unwrap().parse().unwrap(), "KILL");
    let crashed = dev.until("crashed");
    assert_eq!((&crashed["status"], &crashed["cause"]), (&json!("signal 9"), &json!(null)));
}

#[test]
fn without_a_reader_of_its_events_it_ends() {
    let project = Project::of("hello");
    let mut process = project.command_on_own_port(&["--json", "--no-browser"]).spawn().unwrap();
    drop(process.stdout.take());
    assert!(process.wait().unwrap().success());
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn a_program_that_cannot_be_run_is_named() {
    let project = Project::of("hello");
    project.write("tools/python", "no program");
    let mut guard = std::process::Command::new(crate::harness::program());
    let program = project.path("tools/python");
    let guard = guard.args(["guard", "--grace", "1000", "--"]).arg(&program).output().unwrap();
    assert_eq!(guard.status.code(), Some(126));
    let said = String::from_utf8(guard.stderr).unwrap();
    assert!(said.starts_with(&format!("cannot run `{}`: Permission denied", program.display())), "{said}");
}

/// Starts the program with fewer and fewer processes and threads allowed to a user of its own.
#[test]
fn a_process_or_thread_that_cannot_be_started_is_not_waited_for() {
    let project = Project::of("hello");
    let path = project.directory.path();
    assert!(Command::new("chmod").args(["-R", "a+rwX"]).arg(path).status().unwrap().success());
    let user = 1_000_000_000 + std::process::id();
    for limit in 2..9 {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]);
        command.args(["prlimit".to_owned(), format!("--nproc={limit}")]);
        command.arg(&project.program).args(["dev", "--no-reload", "--no-install", "--no-browser"]);
        command.current_dir(path).env("HOME", path).env(super::MARK, path).stdin(Stdio::null());
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        let status = loop {
            match process.try_wait().unwrap() {
                Some(status) => break status,
                None if started.elapsed() > super::PATIENCE => panic!("{limit}: {:?}", project.processes()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(!status.success(), "{limit}");
    }
}
