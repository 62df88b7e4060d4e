//! What is pushed, from real engines to a real registry.

use serde_json::json;

use super::interrupt::{assert_builds_can_be_interrupted, slow_step};
use super::registry::with_registry;
use super::{Stage, deployments, events, named, revisions};
use crate::engine::{BASE, docker, hosts};
use crate::harness::{TestEnv, copy, fixtures};
use crate::host::service::{Host, KEY};
use crate::registry::{PASSWORD, Registry};

/// An image of next to nothing; it goes with the test.
pub(super) struct Image {
    host: String,
    pub(super) name: String,
}

impl Image {
    pub(super) fn make(host: &str) -> Self {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let name = format!("agentcli-test-ship-{nanos}:v7");
        let tar = TestEnv::empty().file("file", nanos.to_string());
        let archive = tar.path("root.tar");
        let mut builder = tar::Builder::new(std::fs::File::create(&archive).unwrap());
        builder.append_path_with_name(tar.path("file"), "file").unwrap();
        builder.finish().unwrap();
        docker(host, &["import", archive.to_str().unwrap(), &name]);
        Self { host: host.to_owned(), name }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let arguments = ["-H", &self.host, "rmi", "-f", &self.name];
        std::process::Command::new("docker").args(arguments).output().ok();
    }
}

#[test]
fn an_image_arrives_with_its_digest() {
    let registry = Registry::start();
    for engine in hosts() {
        let host = with_registry(&registry, PASSWORD);
        let image = Image::make(&engine);
        let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", &engine));
        let events = stage.events(&format!("--name by-image --image {} --deployment-type dev", image.name));
        let pushed = named(&events, "pushed")[0]["image"].as_str().unwrap();
        let digest = registry.digest("agents/by-image", "latest").unwrap();
        assert_eq!(pushed, format!("{}/agents/by-image@{digest}", registry.address), "{engine}");
        let [found] = &deployments(&host)[..] else { panic!("{engine}: not one deployment") };
        assert_eq!(found["source_revision_config"]["image_uri"], json!(pushed));
        assert_eq!(revisions(&host, found)[0]["status"], "DEPLOYED");
        assert_eq!(docker(&engine, &["images", "-q", &format!("{}/*/*", registry.address)]), "", "{engine}");
        // An update, with the same image.
        let again = stage.events(&format!("--name by-image --image {}", image.name));
        assert_eq!(named(&again, "pushed")[0]["image"], json!(pushed));
        assert_eq!((deployments(&host).len(), revisions(&host, found).len()), (1, 2));
    }
}

/// The whole way, after runs that were interrupted as they built: compile, build, push, create, patch, follow, and then
/// look at it and delete it.
#[test]
fn a_project_arrives() {
    let engine = hosts().remove(0);
    let name = format!("whole-{}", std::process::id());
    let registry = Registry::start();
    registry.add_layers(BASE, &format!("agents/{name}"), &engine);
    let host = with_registry(&registry, PASSWORD);
    let env = TestEnv::empty();
    copy(&fixtures("valid").join("hello"), &env.path(""));
    let mut config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(env.path("agent.json")).unwrap()).unwrap();
    config["dockerfile_lines"] = json!([slow_step()]);
    let env = env.file("agent.json", config.to_string());
    let elsewhere = TestEnv::empty();
    let cache = elsewhere.path("cache");
    let env = env
        .variable("AGENT_HOST_URL", &host.url())
        .variable("AGENT_HOST_API_KEY", KEY)
        .variable("XDG_CACHE_HOME", cache.to_str().unwrap())
        .variable("DOCKER_HOST", &engine);
    let stage = Stage { env };
    let arguments = format!("--name {name} --no-pull -t agentcli-test-{name}:v3");
    assert_builds_can_be_interrupted(&host, &stage, &engine, &arguments);
    let events = stage.events(&arguments);
    let built = named(&events, "built")[0]["id"].as_str().unwrap().to_owned();
    let pushed = named(&events, "pushed")[0]["image"].as_str().unwrap().to_owned();
    let digest = registry.digest(&format!("agents/{name}"), "v3").unwrap();
    assert!(pushed.ends_with(&digest), "{pushed} is {digest} in the registry");
    assert_eq!(events.last().unwrap()["status"], "deployed");
    // Nothing changed: nothing is built.
    let again = stage.events(&arguments);
    docker(&engine, &["rmi", &format!("agentcli-test-{name}:v3")]);
    assert_eq!(named(&again, "up_to_date").len(), 1);
    assert_eq!(named(&again, "built")[0]["id"], json!(built));
    let list = stage.deploy("list");
    assert!(list.out.contains(&name), "{}{}", list.out, list.err);
    let logs = stage.deploy(&format!("logs --name {name}"));
    assert!(logs.out.contains(&digest), "{}{}", logs.out, logs.err);
    let id = deployments(&host)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(stage.deploy(&format!("delete {id} --force")).code, 0);
    assert!(deployments(&host).is_empty());
}

#[test]
fn a_registry_that_takes_tokens() {
    let registry = Registry::start_with_tokens();
    for engine in hosts() {
        let image = Image::make(&engine);
        let name = image.name.split(':').next().unwrap();
        let arguments = format!("--name {name} --image {} -t v2", image.name);
        let deploy = |password: &str| {
            let host = with_registry(&registry, password);
            let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", &engine));
            (stage.deploy(&arguments), deployments(&host).remove(0))
        };
        let (output, found) = deploy(PASSWORD);
        assert_eq!(output.code, 0, "{engine}: {output:?}");
        let digest = registry.digest(&format!("agents/{name}"), "v2").unwrap();
        let pushed = format!("{}/agents/{name}@{digest}", registry.address);
        assert_eq!(found["source_revision_config"]["image_uri"], json!(pushed), "{engine}");
        let (output, _) = deploy("no-password-of-it");
        assert_eq!(output.code, 3, "{engine}: {output:?}");
        assert!(!output.err.contains("no-password-of-it"), "{engine}: {output:?}");
    }
}

#[test]
fn a_registry_that_lets_nobody_in() {
    let engine = hosts().pop().unwrap();
    let registry = Registry::start();
    let host = with_registry(&registry, "no-password-of-it");
    let image = Image::make(&engine);
    let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", &engine));
    let output = stage.deploy(&format!("--name x --image {} --json", image.name));
    assert_eq!(output.code, 3, "{}{}", output.out, output.err);
    assert!(!format!("{}{}", output.out, output.err).contains("no-password-of-it"));
    let said = events(&output);
    assert!(named(&said, "pushed").is_empty() && named(&said, "revision").is_empty());
    assert!(revisions(&host, &deployments(&host)[0]).is_empty());
}

#[test]
fn a_key_that_is_none() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let output = stage.deploy("--name x --remote --api-key another-key-of-nobody");
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(!output.err.contains("another-key-of-nobody"), "{}", output.err);
}

#[test]
fn a_deployment_of_source_takes_no_image() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    stage.events("--name x --remote");
    let output = stage.deploy("--name x --image y");
    assert_eq!(output.code, 2, "{}", output.err);
    assert!(output.err.contains("--remote"), "{}", output.err);
}
