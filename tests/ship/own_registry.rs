//! The registry of the service itself, with real engines that push to it and pull from it.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use super::image::Image;
use super::{Stage, deployments, named, revisions};
use crate::engine::{BASE, docker, hosts, hosts_for, remove_labelled, try_docker};
use crate::harness::{TestEnv, copy, fixtures, until};
use crate::host::service::{Host, KEY};
use crate::proxy::{Fault, Proxy};
use crate::registry::Registry;

/// A service on an engine; what it made there is removed with it.
struct OnEngine {
    host: Host,
    engine: String,
    name: String,
}

impl OnEngine {
    fn start(engine: &str) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let name = format!("own-{:x}", since.as_nanos());
        Self { host: Host::on_engine(engine), engine: engine.to_owned(), name }
    }

    /// What the server of the deployment answers.
    fn answer(&self) -> Value {
        let url = format!("http://{}/runs/wait", self.host.proxy());
        let name = format!("host: {}.localhost", self.name);
        let body = json!({ "assistant_id": "agent", "input": {} }).to_string();
        let arguments =
            ["-sS", "-m", "60", "-H", "content-type: application/json", "-H", &name, "-d", &body, &url];
        let output = Command::new("curl").args(arguments).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// All names of images that have the name of the deployment, with tags and digests.
    fn images(&self) -> Vec<String> {
        let all = docker(
            &self.engine,
            &["images", "--digests", "--format", "{{.Repository}}:{{.Tag}}@{{.Digest}}"],
        );
        all.lines().filter(|line| line.contains(&self.name)).map(str::to_owned).collect()
    }
}

impl Drop for OnEngine {
    fn drop(&mut self) {
        // While it runs, it may start its databases again.
        self.host.end();
        remove_labelled(&self.engine, &format!("agentcli.host={}", self.host.id()));
        for image in self.images() {
            let tag = image.split_once('@').map_or(&*image, |(tag, _)| tag);
            try_docker(&self.engine, &["rmi", "-f", tag]).ok();
        }
    }
}

/// The digests of the blobs that were sent.
fn sent(proxy: &Proxy, name: &str) -> Vec<String> {
    let path = format!("/v2/images/{name}/blobs/uploads/");
    let heads = proxy.heads();
    let puts = heads.iter().filter(|head| head.starts_with("PUT ") && head.contains(&path));
    let digest = |head: &String| {
        let rest = head.split_once("digest=").unwrap().1;
        rest.split([' ', '&']).next().unwrap().replace("%3A", ":")
    };
    puts.map(digest).collect()
}

#[test]
fn a_project_is_pushed_runs_and_an_edit_sends_what_is_new() {
    for engine in hosts_for("an own registry") {
        let service = OnEngine::start(&engine);
        let proxy = Proxy::start(service.host.address());
        let name = &service.name;
        let env = TestEnv::empty();
        copy(&fixtures("valid").join("hello"), &env.path(""));
        let env = env
            .variable("AGENT_HOST_URL", &proxy.url())
            .variable("AGENT_HOST_API_KEY", KEY)
            .variable("DOCKER_HOST", &engine);
        let stage = Stage { env };
        let deploy = format!("--name {name} --no-pull -t agentcli-test-{name}:1");
        let events = stage.events(&deploy);
        let pushed = named(&events, "pushed")[0]["image"].as_str().unwrap();
        assert!(pushed.starts_with(&format!("{}/images/{name}@sha256:", proxy.address())), "{pushed}");
        let [found] = &deployments(&service.host)[..] else { panic!("{engine}: not one deployment") };
        let latest = &revisions(&service.host, found)[0];
        assert_eq!(latest["status"], "DEPLOYED", "{engine}: {latest}");
        assert_eq!(service.answer()["greeting"], "Hello, world!", "{engine}");

        let first = sent(&proxy, name);
        let graph = stage.env.path("src/hello/graph.py");
        let text = std::fs::read_to_string(&graph).unwrap();
        assert!(text.contains("Hello, "), "{text}");
        std::fs::write(&graph, text.replace("Hello, ", "Good day, ")).unwrap();
        stage.events(&deploy);
        assert_eq!(service.answer()["greeting"], "Good day, world!", "{engine}");
        let second = sent(&proxy, name).split_off(first.len());
        let new: BTreeSet<&String> = second.iter().collect();
        assert!(!second.is_empty() && second.len() < first.len(), "{engine}: {first:?} {second:?}");
        assert!(first.iter().all(|digest| !new.contains(digest)), "{engine}: {first:?} {second:?}");

        let id = found["id"].as_str().unwrap();
        docker(&engine, &["rmi", &format!("agentcli-test-{name}:1")]);
        assert_eq!(stage.deploy(&format!("delete {id} --force")).code, 0);
        let directory = service.host.data().join("registry").join(id);
        let is_gone = || !directory.exists() && service.images().is_empty();
        until(is_gone, || format!("{engine}: {:?}", service.images()));
    }
}

/// The base image is in a registry: no engine has it.
#[test]
fn an_edit_is_deployed_without_an_engine() {
    let engine = hosts().pop().unwrap();
    let registry = Registry::start_open();
    registry.add_layers(BASE, "base", &engine);
    let base = format!("{}/base:1", registry.address);
    docker(&engine, &["tag", BASE, &base]);
    docker(&engine, &["push", "-q", &base]);
    let service = OnEngine::start(&engine);
    let proxy = Proxy::start(service.host.address());
    let name = &service.name;
    let env = TestEnv::empty();
    copy(&fixtures("valid").join("hello"), &env.path(""));
    let write = |path: &str, from: &str, to: &str| {
        let path = env.path(path);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    };
    write("agent.json", "{", &format!("{{ \"base_image\": \"{base}\","));
    let on = |engine: &str| {
        let env = TestEnv::inside(&env.path(""));
        let env = env.variable("AGENT_HOST_URL", &proxy.url()).variable("AGENT_HOST_API_KEY", KEY);
        Stage { env: env.variable("DOCKER_HOST", engine) }
    };
    let deploy = format!("--name {name}");
    on(&engine).events(&deploy);
    assert_eq!(service.answer()["greeting"], "Hello, world!");
    docker(&engine, &["rmi", &base]);

    write("src/hello/graph.py", "Hello, ", "Good day, ");
    let alone = on("unix:///none");
    let before = sent(&proxy, name).len();
    let planned = alone.events(&format!("{deploy} --dry-run"));
    let steps = [("push", "with the new source"), ("upload", "instead, to build on the service")];
    for (at, (step, message)) in steps.into_iter().enumerate() {
        let would = &named(&planned, "would")[at];
        assert!(would["step"] == step && would["message"].as_str().unwrap().contains(message), "{would}");
    }
    assert_eq!(sent(&proxy, name).len(), before);
    let events = alone.events(&deploy);
    let note = named(&events, "note")[0]["message"].as_str().unwrap();
    assert!(note.ends_with("replacing the source in the image of the deployment"), "{note}");
    assert_eq!(sent(&proxy, name).len(), before + 2, "the layer of the source and the configuration");
    assert_eq!(service.answer()["greeting"], "Good day, world!");

    // What differs before the source is up to the service, unless it must not build. This one refuses base images of
    // this machine.
    write("pyproject.toml", "\n", "\n\n");
    let refused = alone.deploy(&format!("{deploy} --no-remote"));
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains("without a container engine: `pyproject.toml`"), "{}", refused.err);
    assert!(refused.err.ends_with("hint: start a container engine, or pass --remote\n"), "{}", refused.err);
    let output = alone.deploy(&format!("{deploy} --json"));
    assert!(output.err.contains("BUILD_FAILED: cannot use"), "{}", output.err);
    let events = super::events(&output);
    let note = named(&events, "note")[1]["message"].as_str().unwrap();
    assert!(note.ends_with("; building remotely"), "{note}");
    assert_eq!((named(&events, "uploaded").len(), named(&events, "pushed").len()), (1, 0));
    assert_eq!(service.answer()["greeting"], "Good day, world!");
}

#[test]
fn an_image_is_pushed_over_a_bad_connection() {
    const LAYER: &str = "/blobs/uploads/";
    for engine in hosts() {
        for (method, path, fault) in [
            ("POST", LAYER, Fault::Lost),
            ("PATCH", LAYER, Fault::ResetInRequest),
            ("PATCH", LAYER, Fault::BROKEN),
            ("PUT", "/manifests/", Fault::Lost),
            ("PUT", "/manifests/", Fault::BROKEN),
        ] {
            let host = Host::start(|_| {});
            let proxy = Proxy::start(host.address());
            let stage = Stage::new(&proxy.url()).with(|env| env.variable("DOCKER_HOST", &engine));
            let image = Image::make(&engine);
            let arguments = format!("--name app --image {}", image.name);
            proxy.fail(method, path, fault.clone(), 1);
            let events = stage.events(&arguments);
            let pushed = named(&events, "pushed");
            assert_eq!(pushed.len(), 1, "{engine}: {method} {path} {fault:?}: {events:?}");
            let [found] = &deployments(&host)[..] else { panic!("{engine}: not one deployment") };
            assert_eq!(revisions(&host, found)[0]["status"], "DEPLOYED", "{engine}");
            let files = std::fs::read_dir(host.data().join("registry").join(found["id"].as_str().unwrap()));
            let names = files.unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            let blobs: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
            assert_eq!(blobs.len(), 2, "{engine}: {method} {path} {fault:?}: {blobs:?}");
        }
    }
}
