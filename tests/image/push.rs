//! `agentcli build --push`, from a real engine to a real registry.

use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Copy;
use crate::engine::{BASE, docker, hosts, hosts_for, try_docker};
use crate::harness::{Output, TestEnv, program};
use crate::registry::{PASSWORD, Registry, USER};

/// A project, an engine, and the `docker login` of a user.
pub(super) struct Stage {
    pub(super) copy: Copy,
    pub(super) host: String,
    login: TestEnv,
    variables: Vec<(&'static str, &'static str)>,
}

impl Stage {
    pub(super) fn new(copy: Copy, host: &str, registry: &str, password: &str) -> Self {
        Self::with_registries(copy, host, &[registry], password)
    }

    pub(super) fn with_registries(copy: Copy, host: &str, registries: &[&str], password: &str) -> Self {
        let auth = json!({ "auth": STANDARD.encode(format!("{USER}:{password}")) });
        let auths: serde_json::Map<_, _> =
            registries.iter().map(|registry| ((*registry).to_owned(), auth.clone())).collect();
        let config = json!({ "auths": auths }).to_string();
        let login = TestEnv::empty().file("config.json", config);
        Self { copy, host: host.to_owned(), login, variables: Vec::new() }
    }

    /// The same with an environment variable.
    pub(super) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// The same on another engine.
    pub(super) fn on(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// Runs a `docker` command on another engine or this one, with the login.
    pub(super) fn docker(&self, host: &str, arguments: &[&str]) {
        let config = self.login.path("").display().to_string();
        let mut command = Command::new("docker");
        let output = command.args(["--config", &config, "-H", host]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Pushes the base image of the tests to `registry`, and returns its name there.
    pub(super) fn push_base(&self, registry: &Registry) -> String {
        let base = format!("{}/base:1", registry.address);
        registry.add_layers(BASE, "base", &self.host);
        self.docker(&self.host, &["tag", BASE, &base]);
        self.docker(&self.host, &["push", "-q", &base]);
        base
    }

    /// Runs without an engine.
    pub(super) fn alone(&self, arguments: &str) -> Output {
        self.env().variable("DOCKER_HOST", "unix:///none").run(arguments)
    }

    fn env(&self) -> TestEnv {
        let config = self.login.path("").display().to_string();
        let env = TestEnv::inside(self.copy.directory.path()).variable("DOCKER_CONFIG", &config);
        self.variables.iter().fold(env, |env, (name, value)| env.variable(name, value))
    }

    /// The same as a process of its own, which trusts this certificate only.
    pub(super) fn alone_trusting(&self, certificate: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.copy.directory.path()).env("SSL_CERT_FILE", certificate);
        command.env("DOCKER_HOST", "unix:///none").env("DOCKER_CONFIG", self.login.path(""));
        command.stdin(Stdio::null()).output().unwrap().into()
    }

    pub(super) fn run(&self, arguments: &str) -> Output {
        self.env().variable("DOCKER_HOST", &self.host).run(arguments)
    }
}

#[test]
fn an_image_is_pushed_under_each_of_its_names() {
    for host in hosts_for("an image is pushed") {
        let registry = Registry::start_with_tokens();
        registry.add_layers(BASE, "team/agent", &host);
        let stage = Stage::new(Copy::of("hello"), &host, &registry.address, PASSWORD);
        let repository = format!("{}/team/agent", registry.address);
        let names = ["1", "2"].map(|tag| format!("{repository}:{tag}"));
        let arguments = format!("build --no-pull --push -t {} -t {}", names[0], names[1]);
        let built = stage.run(&arguments);
        assert_eq!(built.code, 0, "{}", built.err);
        let digests = ["1", "2"].map(|tag| registry.digest("team/agent", tag).unwrap());
        assert_eq!(digests[0], digests[1]);
        let [id, pushed] = built.out.lines().collect::<Vec<_>>()[..] else { panic!("{}", built.out) };
        assert_eq!(pushed, format!("{repository}@{}", digests[0]));
        assert!(id.starts_with("sha256:") && id.ends_with(&names.join(" ")), "{id}");

        let refused = Stage::new(Copy::of("hello"), &host, &registry.address, "no-password-of-it");
        let refused = refused.run(&arguments);
        assert_eq!(refused.code, 3, "{}", refused.err);
        assert!(refused.err.contains(&format!("`docker login {}`", registry.address)), "{}", refused.err);
        assert!(
            !refused.err.contains("no-password-of-it") && !refused.err.contains("temporary tag"),
            "{}",
            refused.err
        );
        // Its local names stay, with those that an engine adds for the digest.
        let ids = names.each_ref().map(|name| docker(&host, &["image", "inspect", "-f", "{{.Id}}", name]));
        assert!(id.starts_with(ids[0].trim()) && ids[0] == ids[1], "{ids:?}");

        let again = stage.run(&format!("{arguments} --progress json"));
        let events: Vec<Value> = again.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let named: Vec<&Value> = events.iter().filter(|event| event["event"] == "pushed").collect();
        assert_eq!(named, [&json!({ "event": "pushed", "image": pushed })]);
        names.iter().for_each(|name| drop(try_docker(&host, &["rmi", name])));
    }
}

#[test]
fn a_name_without_a_registry_is_refused_before_the_build() {
    let env = TestEnv::project().variable("DOCKER_HOST", "unix:///none");
    let refused = env.run("build --push -t registry.example/agent -t agent:1");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("cannot push `agent:1`: it names no registry"), "{}", refused.err);
}

/// The base image says that it is for another platform, and has the programs of this one, so that its steps run here.
#[test]
fn images_of_several_platforms_are_pushed_as_one() {
    const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
    const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
    let [old, new, ..] = &hosts()[..] else { panic!("two engines are needed") };
    let registry = Registry::start();
    registry.add_layers(BASE, "base", new);
    let stage = Stage::new(Copy::of("hello"), new, &registry.address, PASSWORD);
    let address = &registry.address;
    let base = format!("{address}/base:amd64");
    stage.docker(new, &["tag", BASE, &base]);
    stage.docker(new, &["push", "-q", &base]);
    let json = |path: &str| -> Value { serde_json::from_slice(&registry.get("base", path)).unwrap() };
    let mut manifest = json("manifests/amd64");
    let mut settings = json(&format!("blobs/{}", manifest["config"]["digest"].as_str().unwrap()));
    settings["architecture"] = json!("arm64");
    manifest["config"]["size"] = json!(settings.to_string().len());
    manifest["config"]["digest"] = json!(registry.put_blob("base", &settings.to_string()));
    registry.put_manifest("base", "arm64", MANIFEST, &manifest.to_string());
    let platforms = ["amd64", "arm64"];
    let entry = |architecture: &str| {
        let size = registry.get("base", &format!("manifests/{architecture}")).len();
        let digest = registry.digest("base", architecture).unwrap();
        let platform = json!({ "os": "linux", "architecture": architecture });
        json!({ "mediaType": MANIFEST, "size": size, "digest": digest, "platform": platform })
    };
    let list = json!({ "schemaVersion": 2, "mediaType": LIST, "manifests": platforms.map(entry) });
    registry.put_manifest("base", "1", LIST, &list.to_string());

    let names = ["1", "2"].map(|tag| format!("{address}/team/agent:{tag}"));
    let built = stage.run(&format!(
        "build --push -t {} -t {} --platform linux/amd64,linux/arm64 --base-image {address}/base:1",
        names[0], names[1]
    ));
    assert_eq!(built.code, 0, "{}", built.err);
    let index: Value = serde_json::from_slice(&registry.get("team/agent", "manifests/1")).unwrap();
    let digest = registry.digest("team/agent", "1").unwrap();
    assert_eq!(built.out.lines().last().unwrap(), format!("{address}/team/agent@{digest}"));
    let found: Vec<_> =
        index["manifests"].as_array().unwrap().iter().map(|it| &it["platform"]["architecture"]).collect();
    assert_eq!(found, ["amd64", "arm64"], "{index}");
    for (at, architecture) in platforms.iter().enumerate() {
        let of_platform = registry.digest("team/agent", &format!("1-linux-{architecture}")).unwrap();
        assert_eq!(index["manifests"][at]["digest"], of_platform.as_str());
    }

    // Another engine takes the image of the platform that it is asked for.
    for architecture in platforms {
        stage.docker(old, &["pull", "-q", "--platform", &format!("linux/{architecture}"), &names[1]]);
        let shown = docker(old, &["image", "inspect", "-f", "{{.Architecture}}", &names[1]]);
        assert_eq!(shown.trim(), architecture);
        drop(try_docker(old, &["rmi", &names[1]]));
    }
}
