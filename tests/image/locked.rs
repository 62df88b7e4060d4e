//! Images on a base image of `agent.lock`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Copy;
use super::push::Stage;
use crate::engine::{BASE, docker, hosts_for, try_docker};
use crate::harness::Output;
use crate::registry::{PASSWORD, Registry};

/// Builds a base image with this label, and pushes it.
fn push_base(stage: &Stage, directory: &Path, name: &str, word: &str) {
    let text = format!("FROM {BASE}\nLABEL word={word}\n");
    let dockerfile = directory.join("Dockerfile");
    fs::write(&dockerfile, text).unwrap();
    let (dockerfile, directory) = (dockerfile.display().to_string(), directory.display().to_string());
    stage.docker(&stage.host, &["build", "-q", "-t", name, "-f", &dockerfile, &directory]);
    stage.docker(&stage.host, &["push", "-q", name]);
}

fn done(run: Output) -> Output {
    assert_eq!(run.code, 0, "{}", run.err);
    run
}

#[test]
fn a_locked_base_image_stays_until_it_is_upgraded() {
    for host in hosts_for("a locked base image") {
        let registry = Registry::start();
        registry.add_layers(BASE, "base", &host);
        let stage = Stage::new(Copy::of("hello"), &host, &registry.address, PASSWORD);
        let other = tempfile::tempdir().unwrap();
        let address = &registry.address;
        let (base, agent) = (format!("{address}/base:1"), format!("{address}/team/agent"));
        let label = |name: &str| {
            docker(&host, &["image", "inspect", "-f", "{{.Config.Labels.word}}", name]).trim().to_owned()
        };
        let options = format!("--base-image {base}");
        let build = |tag: &str| format!("build --locked --push -t {agent}:{tag} {options}");

        push_base(&stage, other.path(), &base, "one");
        let first = registry.digest("base", "1").unwrap();
        done(stage.alone(&format!("lock --no-services {options}")));
        done(stage.run(&build("1")));
        assert_eq!(label(&format!("{agent}:1")), "one");

        // Another image gets the tag, and the locked one is used.
        push_base(&stage, other.path(), &base, "two");
        let second = registry.digest("base", "1").unwrap();
        assert_ne!(first, second);
        let graph = stage.copy.directory.path().join("src/hello/graph.py");
        let text = fs::read_to_string(&graph).unwrap();
        fs::write(&graph, format!("{text}\n# edited\n")).unwrap();
        let replaced = done(stage.alone(&format!("{} --no-engine --from {agent}:1", build("3"))));
        done(stage.run(&build("4")));
        assert_eq!(label(&format!("{agent}:4")), "one");
        stage.docker(&host, &["pull", "-q", replaced.out.trim()]);
        let settings = |name: &str| -> Value {
            let text = docker(&host, &["image", "inspect", name]);
            let inspected: Value = serde_json::from_str(&text).unwrap();
            inspected[0]["Config"]["Labels"].clone()
        };
        assert_eq!(settings(replaced.out.trim()), settings(&format!("{agent}:4")));

        done(stage.alone(&format!("lock --no-services --upgrade base {options}")));
        let refused = stage.alone(&format!("{} --no-engine --from {agent}:1", build("5")));
        assert!(
            refused.code == 1 && refused.err.contains(&format!("the base image is `{base}@{second}`")),
            "{}",
            refused.err
        );
        done(stage.run(&build("5")));
        assert_eq!(label(&format!("{agent}:5")), "two");

        // A digest that the registry does not have.
        let lock = stage.copy.directory.path().join("agent.lock");
        let text = fs::read_to_string(&lock).unwrap();
        fs::write(&lock, text.replace(&second, &format!("sha256:{}", "0".repeat(64)))).unwrap();
        let failed = stage.run(&build("6"));
        assert_eq!(failed.code, 1, "{}", failed.err);
        assert!(failed.err.contains("sha256:0000") && failed.err.contains("not found"), "{}", failed.err);
        assert!(!failed.err.contains(PASSWORD));
        assert_eq!(registry.digest("team/agent", "6"), None);
        for name in ["1", "4", "5"].map(|tag| format!("{agent}:{tag}")).iter().chain([&base]) {
            drop(try_docker(&host, &["rmi", name]));
        }
    }
}
