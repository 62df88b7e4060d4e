//! A server whose migrations are a step of the service, with several replicas.

use std::fs;
use std::fs::File;
use std::process::Command;

use agentcli::compiler::server::product::PG;
use agentcli_host::runner::{Databases, EngineRunner, Failure, Launch, Options, Runner, container_name};
use tempfile::TempDir;

use super::runner::{OwnHost, READY, create, log};
use crate::engine::{docker, try_docker};
use crate::harness::{copy, outside};
use crate::host::runner::until;

/// The checks of the protocol in the directory that AGENTCLI_PROTOCOL names, of which the hooks reach one replica only.
#[tokio::test]
async fn two_replicas_of_the_server_with_databases_pass_all_checks() {
    let host = OwnHost::new();
    let options = host.options(Databases::new(None, None, b"key").unwrap());
    let runner = EngineRunner::new(Options { server: &PG, ..options }).unwrap();
    let (directory, project) = (outside("AGENTCLI_PROTOCOL"), TempDir::new().unwrap());
    copy(&directory.join("project"), project.path());
    fs::rename(project.path().join("langgraph.json"), project.path().join("agent.json")).unwrap();
    for file in ["graph.py", "more.py"] {
        // Python 3.11 has no schema of the other one.
        let text = fs::read_to_string(project.path().join(file)).unwrap();
        fs::write(project.path().join(file), text.replace("from typing import TypedDict", TYPED_DICT))
            .unwrap();
    }
    let (sink, lines) = log();
    let built = runner.build(host.job(project.path()).await, sink).await;
    built.unwrap_or_else(|error| panic!("{error}\n{:#?}", lines.lock().unwrap()));

    // Wrong variables of the deployment: the reason is that of the migrations, and nothing is left of them.
    let mut wrong = Launch { environment: Vec::new(), ..host.launch() };
    wrong.environment.push(("PYTHONHOME".to_owned(), "/nowhere".to_owned()));
    let failed = loop {
        match runner.create(wrong.clone()).await {
            Err(Failure::Unavailable(_)) => {}
            failed => break failed.unwrap_err().to_string(),
        }
    };
    assert!(failed.starts_with("the migrations of the database ended with exit code 1"), "{failed}");
    assert!(!host.containers().contains("runner-"), "{}", host.containers());

    let launches = [0, 1].map(|replica| Launch { replica, environment: Vec::new(), ..host.launch() });
    tokio::join!(create(&runner, &launches[0]), create(&runner, &launches[1]));
    let names = [0, 1].map(|replica| container_name(&host.name(), 1, replica));
    for name in &names {
        runner.start(name).await.unwrap();
    }
    assert!(!host.containers().contains("migrations"), "{}", host.containers());
    let exec = |command: &[&str]| try_docker(&host.engine, &[&["exec", &names[0]], command].concat());
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/up/robin.py");
    let address = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}:8000";
    let other = docker(&host.engine, &["inspect", "-f", address, &names[1]]);
    let robin = fs::read_to_string(program).unwrap();
    let servers = ["9000", "127.0.0.1:8000", other.trim()];
    let command = [&["exec", "-d", &names[0], "python3", "-c", &robin][..], &servers].concat();
    docker(&host.engine, &command);
    let check =
        "import urllib.request; [urllib.request.urlopen('http://127.0.0.1:9000/ok') for _ in range(2)]";
    until("the servers", READY, || exec(&["python3", "-c", check]).is_ok()).await;
    let arguments = ["-H", &host.engine, "exec", "-i", &names[0], "python3", "-", "http://127.0.0.1:9000"];
    let checks = File::open(directory.join("sdk_checks.py")).unwrap();
    let output = Command::new("docker").args(arguments).stdin(checks).output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    let failed = answer.lines().filter_map(|line| line.strip_prefix("  - "));
    let failed: Vec<&str> = failed.filter(|line| !line.starts_with("webhook called")).collect();
    assert!(answer.contains(" of 78") && failed.is_empty(), "{answer}");

    for name in &names {
        runner.remove(name).await.unwrap();
    }
    runner.forget(&host.launch().deployment).await.unwrap();
}

const TYPED_DICT: &str = "from typing_extensions import TypedDict";
