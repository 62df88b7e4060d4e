//! `--cache-to inline` and `--cache-from`: an engine uses the layers that another one made.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Copy;
use super::push::Stage;
use crate::engine::{docker, hosts, try_docker};
use crate::harness::TestEnv;
use crate::registry::{PASSWORD, Registry};

/// A fresh runner: an engine that has nothing. It ends with this value.
struct Runner {
    state: PathBuf,
    host: String,
}

impl Runner {
    fn start() -> Self {
        // Always the same: the name decides the engine's network.
        let state = env::var("AGENTCLI_TEST_STATE").unwrap_or("/var/tmp/agentcli-tests".to_owned());
        let mut runner = Self { state: Path::new(&state).join("runner"), host: String::new() };
        runner.stop();
        runner.host = runner.script("up", &["old"]);
        runner
    }

    fn script(&self, name: &str, arguments: &[&str]) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine").join(name);
        let mut command = Command::new(path);
        let output = command.args(arguments).env("AGENTCLI_TEST_STATE", &self.state).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn stop(&self) {
        self.script("down", &[]);
        std::fs::remove_dir_all(&self.state).ok();
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn a_fresh_engine_uses_the_layers_of_a_pushed_image() {
    let first = &hosts()[0];
    let registry = Registry::start();
    let copy = Copy::of("hello");
    // Each engine that runs this step makes another layer.
    let path = copy.directory.path().join("agent.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    config["dockerfile_lines"] = json!(["RUN cat /proc/sys/kernel/random/uuid > /run-by"]);
    std::fs::write(&path, config.to_string()).unwrap();
    let stage = Stage::new(copy, first, &registry.address, PASSWORD);
    let base = stage.push_base(&registry);
    let image = |tag: &str| format!("{}/team/agent:{tag}", registry.address);
    let build = |tag: &str| {
        let (own, cache) = (image(tag), image("cache"));
        format!("build --push -t {own} -t {cache} --cache-from {cache} --cache-to inline --base-image {base}")
    };
    let layers = |host: &str, tag: &str| -> Vec<Value> {
        let text = docker(host, &["image", "inspect", "-f", "{{json .RootFS.Layers}}", &image(tag)]);
        serde_json::from_str(&text).unwrap()
    };
    let started = stage.run(&build("1"));
    assert_eq!(started.code, 0, "{}", started.err);
    let warning = format!("cannot read the layers of `{}`", image("cache"));
    assert!(started.err.contains(&warning), "{}", started.err);
    let theirs = layers(first, "1");

    ["1", "cache"].iter().for_each(|tag| drop(try_docker(first, &["rmi", &image(tag)])));
    drop(try_docker(first, &["rmi", &base]));

    let graph = stage.copy.directory.path().join("src/hello/graph.py");
    let text = std::fs::read_to_string(&graph).unwrap();
    std::fs::write(graph, text + "\n# edited\n").unwrap();
    let runner = Runner::start();
    let stage = stage.on(&runner.host);
    let built = stage.run(&build("2"));
    assert_eq!(built.code, 0, "{}", built.err);
    let own = layers(&runner.host, "2");
    assert_eq!(theirs[..theirs.len() - 1], own[..own.len() - 1], "{}", built.err);
    assert_ne!(theirs.last(), own.last());
}

/// The source layer of the new image is not the one that the record of the former image names.
#[test]
fn an_image_without_an_engine_does_not_pass_the_record_on() {
    let host = &hosts()[0];
    let registry = Registry::start();
    let stage = Stage::new(Copy::of("hello"), host, &registry.address, PASSWORD);
    let base = stage.push_base(&registry);
    let image = format!("{}/team/agent:1", registry.address);
    let options = format!("--push -t {image} --base-image {base}");
    let built = stage.run(&format!("build {options} --cache-to inline"));
    assert_eq!(built.code, 0, "{}", built.err);
    let record = "moby.buildkit.cache.v0";
    let configuration = |registry: &Registry| {
        let manifest: Value = serde_json::from_slice(&registry.get("team/agent", "manifests/1")).unwrap();
        let digest = manifest["config"]["digest"].as_str().unwrap();
        String::from_utf8(registry.get("team/agent", &format!("blobs/{digest}"))).unwrap()
    };
    assert!(configuration(&registry).contains(record));
    let graph = stage.copy.directory.path().join("src/hello/graph.py");
    std::fs::write(&graph, std::fs::read_to_string(&graph).unwrap() + "\n# edited\n").unwrap();
    let replaced = stage.alone(&format!("build --no-engine {options}"));
    assert_eq!(replaced.code, 0, "{}", replaced.err);
    assert!(!configuration(&registry).contains(record));
    drop(try_docker(host, &["rmi", &image, &base]));
}

#[test]
fn caches_that_an_engine_cannot_use_are_refused_with_the_reason() {
    let run = |options: &str| TestEnv::project().variable("DOCKER_HOST", "unix:///none").run(options);
    for (options, reason) in [
        ("--cache-from type=gha", "an engine reads layers of images in registries only"),
        ("--cache-from a:b:c", "it is not the name of an image"),
        ("--cache-to type=registry,ref=x.example/a", "an engine keeps layers for others in the image only"),
        ("--no-engine --push --cache-to inline", "cannot be used with"),
    ] {
        let refused = run(&format!("build -t registry.example/a:1 {options}"));
        assert!(refused.code == 2 && refused.err.contains(reason), "{options}: {}", refused.err);
    }
    let accepted = run("build -t a --cache-from type=registry,ref=x.example/a:1 --cache-to type=inline");
    assert!(accepted.err.contains("container engine"), "{}", accepted.err);
}

#[test]
fn a_job_of_ci_that_pushes_is_told_about_the_layers_of_earlier_ones() {
    let hint = "`--cache-from IMAGE --cache-to inline`";
    let run = |variable: &str, options: &str| {
        let env = TestEnv::project().variable("DOCKER_HOST", "unix:///none").variable(variable, "true");
        env.run(&format!("build -t 127.0.0.1:1/a:1 {options}")).err
    };
    assert!(run("GITHUB_ACTIONS", "--push").contains(hint) && run("GITLAB_CI", "--push").contains(hint));
    for (variable, options) in
        [("OTHER", "--push"), ("GITLAB_CI", ""), ("GITLAB_CI", "--push --cache-to inline")]
    {
        assert!(!run(variable, options).contains(hint), "{variable} {options}");
    }
}
