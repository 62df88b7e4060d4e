//! Builds of sources with an `agent.lock`, on real engines.

use std::fs;
use std::path::Path;
use std::process::Command;

use agentcli_host::runner::{AllowedImages, Databases, EngineRunner, Options, Runner};
use serde_json::json;
use tempfile::TempDir;

use super::runner::{OwnHost, log};
use crate::engine::{docker, hosts_for};
use crate::harness::program;
use crate::registry::Registry;

/// Pushes a base image with this label, of which the engine keeps nothing.
fn push(engine: &str, base: &str, label: &str) {
    let directory = TempDir::new().unwrap();
    let dockerfile = directory.path().join("Dockerfile");
    fs::write(&dockerfile, format!("FROM langchain/langgraph-api:3.11\nLABEL word={label}\n")).unwrap();
    let [dockerfile, directory] = [&*dockerfile, directory.path()].map(|path| path.display().to_string());
    docker(engine, &["build", "-q", "-t", base, "-f", &dockerfile, &directory]);
    docker(engine, &["push", "-q", base]);
    docker(engine, &["rmi", base]);
}

fn lock(project: &Path, arguments: &[&str]) {
    let mut command = Command::new(program());
    command.arg("lock").args(arguments).current_dir(project);
    assert!(command.status().unwrap().success(), "{arguments:?}");
}

#[tokio::test]
async fn a_source_with_a_lock_file_is_built_on_its_images() {
    for engine in hosts_for("a lock file in the source") {
        let registry = Registry::start_open();
        let base = format!("{}/base:1", registry.address);
        let project = TempDir::new().unwrap();
        let config =
            json!({ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "base_image": base });
        let config = config.to_string();
        for (name, text) in
            [("agent.json", &*config), ("agent.py", "graph = object()\n"), ("requirements.txt", "")]
        {
            fs::write(project.path().join(name), text).unwrap();
        }
        push(&engine, &base, "one");
        lock(project.path(), &["--no-services"]);
        push(&engine, &base, "two");

        let host = OwnHost::on(engine);
        let allowed_images = AllowedImages::new(&[format!("{}/*", registry.address)]).unwrap();
        let options = host.options(Databases::new(None, None, b"key").unwrap());
        let runner = EngineRunner::new(Options { allowed_images, ..options }).unwrap();
        let job = host.job(project.path()).await;
        let image = job.tag.clone();
        let label = || docker(&host.engine, &["image", "inspect", "-f", "{{.Config.Labels.word}}", &image]);
        let (sink, lines) = log();
        let built = runner.build(job, sink).await;
        built.unwrap_or_else(|error| panic!("{error}\n{:#?}", lines.lock().unwrap()));
        assert_eq!(label().trim(), "one");

        // Without the file, the base image is what its tag names now.
        fs::rename(project.path().join("agent.lock"), project.path().join("other.lock")).unwrap();
        let (sink, lines) = log();
        let built = runner.build(host.job(project.path()).await, sink).await;
        built.unwrap_or_else(|error| panic!("{error}\n{:#?}", lines.lock().unwrap()));
        assert_eq!(label().trim(), "two");

        fs::rename(project.path().join("other.lock"), project.path().join("agent.lock")).unwrap();
        fs::write(project.path().join("agent.json"), config.replace("/base:1", "/base:2")).unwrap();
        let (sink, _) = log();
        let refused = runner.build(host.job(project.path()).await, sink).await.unwrap_err().to_string();
        let difference = format!("agent.lock is out of date (- {base}, + {}/base:2)", registry.address);
        assert!(refused.contains(&difference) && refused.contains("run `agentcli lock"), "{refused}");
        docker(&host.engine, &["rmi", &image]);
    }
}
