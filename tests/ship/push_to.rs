//! Images that are pushed to a registry of the user's, from real engines to a real registry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::image::Image;
use super::{Stage, deployments, named, revisions};
use crate::engine::{BASE, docker, hosts};
use crate::harness::TestEnv;
use crate::host::service::Host;
use crate::registry::{PASSWORD, Registry, USER};

/// A stage whose `docker login` has this password for the registry.
fn stage(host: &Host, engine: &str, registry: &Registry, password: &str) -> Stage {
    let auth = STANDARD.encode(format!("{USER}:{password}"));
    let config = json!({ "auths": { &registry.address: { "auth": auth } } }).to_string();
    let stage = Stage::new(&host.url()).with(|env| env.file("docker/config.json", config));
    let directory = stage.env.path("docker").display().to_string();
    stage.with(|env| env.variable("DOCKER_HOST", engine).variable("DOCKER_CONFIG", &directory))
}

fn self_hosted() -> Host {
    Host::start(|options| options.is_self_hosted = true)
}

#[test]
fn an_image_is_pushed_with_the_credentials_of_docker_login() {
    for registry in [Registry::start(), Registry::start_with_tokens()] {
        for engine in hosts() {
            let host = self_hosted();
            let image = Image::make(&engine);
            let stage = stage(&host, &engine, &registry, PASSWORD);
            let arguments =
                format!("--name x --push-to {}/mine/agent:v7 --image {}", registry.address, image.name);
            let events = stage.events(&arguments);
            let digest = registry.digest("mine/agent", "v7").unwrap();
            let pushed = json!(format!("{}/mine/agent@{digest}", registry.address));
            assert_eq!(named(&events, "pushed")[0]["image"], pushed, "{engine}");
            let [found] = &deployments(&host)[..] else { panic!("{engine}: not one deployment") };
            assert_eq!(
                (&found["source"], &found["source_revision_config"]["image_uri"]),
                (&json!("external_container"), &pushed)
            );
            assert_eq!(
                docker(&engine, &["images", "-q", &format!("{}/*/*", registry.address)]),
                "",
                "{engine}"
            );
            // A change.
            let tag = arguments.replacen(":v7", " -t v8", 1);
            stage.events(&tag);
            assert_eq!(registry.digest("mine/agent", "v8").unwrap(), digest, "{engine}");
            let made = revisions(&host, found);
            assert_eq!((made.len(), &made[0]["status"]), (2, &json!("DEPLOYED")), "{engine}");
        }
    }
}

#[test]
fn wrong_credentials_create_nothing() {
    let registry = Registry::start();
    for engine in hosts() {
        let host = self_hosted();
        let image = Image::make(&engine);
        let stage = stage(&host, &engine, &registry, "no-password-of-it");
        let output =
            stage.deploy(&format!("--name x --push-to {}/agent --image {}", registry.address, image.name));
        assert_eq!(output.code, 3, "{engine}: {output:?}");
        assert!(
            output.err.contains("docker login") && !output.err.contains("no-password-of-it"),
            "{output:?}"
        );
        assert!(deployments(&host).is_empty(), "{engine}");
    }
}

#[test]
fn an_image_for_another_platform_is_refused() {
    let registry = Registry::start();
    // Older engines import every image for their own platform.
    let engine = hosts().pop().unwrap();
    let host = self_hosted();
    let image = Image::make(&engine);
    let other = format!("{}-arm64", image.name);
    let tar = TestEnv::empty();
    let archive = tar.path("root.tar");
    tar::Builder::new(std::fs::File::create(&archive).unwrap()).finish().unwrap();
    docker(&engine, &["import", "--platform", "linux/arm64", archive.to_str().unwrap(), &other]);
    let stage = stage(&host, &engine, &registry, PASSWORD);
    let output = stage.deploy(&format!("--name x --push-to {}/agent --image {other}", registry.address));
    docker(&engine, &["rmi", &other]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.err.contains("it is for linux/arm64"), "{output:?}");
    assert!(deployments(&host).is_empty());
}

#[test]
fn a_build_has_the_name_that_is_pushed() {
    let engine = hosts().remove(0);
    let registry = Registry::start();
    registry.add_layers(BASE, "team/agent", &engine);
    let host = self_hosted();
    let stage = stage(&host, &engine, &registry, PASSWORD);
    let name = format!("{}/team/agent", registry.address);
    let planned = stage.events(&format!("--name x --push-to {name}:v2 --dry-run"));
    let steps: Vec<_> = named(&planned, "would").iter().map(|it| it["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["build", "push", "create", "wait"]);
    assert!(named(&planned, "would")[1]["message"].as_str().unwrap().contains(&format!("`{name}:v2`")));
    for tag in ["v3", "agent:v3"] {
        let planned = stage.events(&format!("--name x --push-to {name} -t {tag} --dry-run"));
        assert!(named(&planned, "would")[1]["message"].as_str().unwrap().contains(&format!("`{name}:v3`")));
    }
    let several = "one tag is pushed, and several are given";
    for (tags, why) in [
        (":v2 -t v3", several),
        (" -t v3 -t v4", several),
        (" --image x -t v3 -t v4", several),
        (" -t v3/a", "--tag v3/a: it is not a tag"),
    ] {
        let refused = stage.deploy(&format!("--name x --push-to {name}{tags} --dry-run"));
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(why), "{}", refused.err);
    }
    let events = stage.events(&format!("--name x --push-to {name} --no-pull --label word=hello"));
    let label = ["image", "inspect", "-f", "{{.Config.Labels.word}}", &format!("{name}:latest")];
    assert_eq!(docker(&engine, &label), "hello\n");
    docker(&engine, &["rmi", &format!("{name}:latest")]);
    assert_eq!(named(&events, "built")[0]["tags"], json!([format!("{name}:latest")]));
    let digest = registry.digest("team/agent", "latest").unwrap();
    assert_eq!(named(&events, "pushed")[0]["image"], json!(format!("{name}@{digest}")));
    assert_eq!(events.last().unwrap()["status"], "deployed");
}

#[test]
fn an_image_of_the_repository_gets_new_source_without_an_engine() {
    let engine = hosts().remove(0);
    let registry = Registry::start();
    registry.add_layers(BASE, "base", &engine);
    let host = self_hosted();
    let stage = stage(&host, &engine, &registry, PASSWORD);
    let base = format!("{}/base:1", registry.address);
    docker(&engine, &["tag", BASE, &base]);
    let login = stage.env.path("docker").display().to_string();
    docker(&engine, &["--config", &login, "push", "-q", &base]);
    let name = format!("{}/team/agent", registry.address);
    let deploy = format!("--name x --push-to {name} --base-image {base} --no-pull");
    stage.events(&deploy);
    docker(&engine, &["rmi", &format!("{name}:latest"), &base]);

    let stage = stage.with(|env| env.variable("DOCKER_HOST", "unix:///none").file("more.py", "more = 1\n"));
    let before = registry.digest("team/agent", "latest").unwrap();
    let events = stage.events(&format!("{deploy} -t v2"));
    let after = registry.digest("team/agent", "v2").unwrap();
    assert_ne!(after, before);
    assert_eq!(named(&events, "pushed")[0]["image"], json!(format!("{name}@{after}")));
    assert_eq!(events.last().unwrap()["status"], "deployed");
    let other = stage.deploy(&format!("{deploy} --label word=hello -t v3"));
    assert_eq!(other.code, 1, "{}", other.err);
    assert!(other.err.contains("--label differs"), "{}", other.err);
    assert_eq!(registry.digest("team/agent", "v3"), None);
}
