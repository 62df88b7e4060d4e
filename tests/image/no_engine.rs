//! `agentcli build --no-engine`: the same image as that of an engine, or a refusal.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use super::push::Stage;
use super::{Container, Copy};
use crate::engine::{docker, hosts, output_in, try_docker};
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry};

/// Edits the source in some ways.
fn edit(root: &Path, random: &mut fastrand::Rng) {
    let file = |path: &str, text: String, mode: u32| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    };
    for _ in 0..random.usize(2..6) {
        let number = random.u32(..100);
        match random.u8(..7) {
            0 => file(&format!("data/{number}/ü {number}.txt"), "x".repeat(number as usize * 999), 0o640),
            1 => file(&format!("src/hello/tool{number}"), "#!/bin/sh\n".to_owned(), 0o4755),
            2 => {
                let graph = root.join("src/hello/graph.py");
                let text = fs::read_to_string(&graph).unwrap();
                fs::write(graph, format!("{text}\n# {number}\n")).unwrap();
            }
            3 => _ = symlink(format!("../nowhere{number}"), root.join(format!("link{number}"))),
            4 => fs::remove_dir_all(root.join("data")).unwrap_or_default(),
            5 => {
                fs::create_dir_all(root.join("empty")).unwrap();
                let mode = if number.is_multiple_of(2) { 0o700 } else { 0o1777 };
                fs::set_permissions(root.join("empty"), Permissions::from_mode(mode)).unwrap();
            }
            _ => file(".dockerignore", format!("data/{number}\n*.pyc\n"), 0o644),
        }
    }
}

/// The files of an image, and its settings.
fn picture(host: &str, image: &str) -> (String, Value, Vec<Value>) {
    let list = "cd / && find deps -printf '%p %M %U:%G %l\n' | sort && find deps -type f -printf '%p %T@\n' | sort \
                && find deps -type f -print0 | sort -z | xargs -0 sha256sum";
    let files = output_in(host, &["-u", "0", image], &["sh", "-c", list]);
    let text = docker(host, &["image", "inspect", image]);
    let inspected: Value = serde_json::from_str(&text).unwrap();
    let settings = [
        "Env",
        "Cmd",
        "Entrypoint",
        "Labels",
        "User",
        "WorkingDir",
        "ExposedPorts",
        "Healthcheck",
        "OnBuild",
    ];
    let settings: Value =
        settings.iter().map(|name| json!([name, inspected[0]["Config"][name]])).collect::<Vec<_>>().into();
    let mut layers = inspected[0]["RootFS"]["Layers"].as_array().unwrap().clone();
    layers.pop();
    (files, settings, layers)
}

#[test]
fn an_image_without_an_engine_is_that_of_an_engine() {
    let [host, other, ..] = &hosts()[..] else { panic!("two engines are needed") };
    let registry = Registry::start();
    let proxy = Proxy::start(registry.address.parse().unwrap());
    let through_proxy = proxy.address().to_string();
    let address = &registry.address;
    let stage = Stage::with_registries(Copy::of("hello"), host, &[address, &through_proxy], PASSWORD);
    let root = stage.copy.directory.path().to_owned();
    let base = stage.push_base(&registry);
    let based = format!("--base-image {base}");
    let image = |tag: &str| format!("{address}/team/agent:{tag}");

    let unbuilt = stage.alone(&format!("build --no-engine --push -t {} {based}", image("1")));
    assert_eq!(unbuilt.code, 1, "{}", unbuilt.err);
    assert!(
        unbuilt.err.contains("the registry has no image") && unbuilt.err.contains("--push`"),
        "{}",
        unbuilt.err
    );
    let built = stage.run(&format!("build --no-pull --push -t {} {based}", image("1")));
    assert_eq!(built.code, 0, "{}", built.err);

    // Random edits.
    let seed = crate::harness::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let from = format!("--from {}", image("1"));
    let replace = format!("build --no-engine --push -t {} {based} {from}", image("2"));
    for round in 0..if crate::harness::is_long() { 20 } else { 3 } {
        edit(&root, &mut random);
        let replaced = stage.alone(&replace);
        assert_eq!(replaced.code, 0, "seed {seed}, round {round}: {}", replaced.err);
        let digest = registry.digest("team/agent", "2").unwrap();
        assert_eq!(replaced.out, format!("{address}/team/agent@{digest}\n"));
        assert_eq!(stage.alone(&replace).out, replaced.out, "it is not deterministic");
        // Without the option, too, where no engine answers.
        let unasked = stage.alone(&format!("build --push -t {} {based}", image("2")));
        assert!(unasked.code == 0 && unasked.out == replaced.out, "{}", unasked.err);
        assert!(unasked.err.contains("replacing the source in the image of the registry"), "{}", unasked.err);
        let by_engine = image("engine");
        let built = stage.run(&format!("build --no-pull -t {by_engine} {based}"));
        assert_eq!(built.code, 0, "{}", built.err);
        stage.docker(host, &["pull", "-q", &image("2")]);
        assert_eq!(picture(host, &image("2")), picture(host, &by_engine), "seed {seed}, round {round}");
        assert!(replaced.err.contains("note: sent "), "{}", replaced.err);
    }
    // A second engine runs it.
    stage.docker(other, &["pull", "-q", &image("2")]);
    let greeting = Container::start(other, &image("2")).run("agent");
    assert_eq!(greeting["greeting"], "Hello, Ada!");

    // Other repositories of the registry take the layers.
    let moved = stage.alone(&format!("build --no-engine --push -t {address}/other/agent:1 {based} {from}"));
    assert_eq!(moved.code, 0, "{}", moved.err);
    assert_eq!(registry.digest("other/agent", "1"), registry.digest("team/agent", "2"));

    // What differs before the source is refused.
    let refuse_all = |arguments: &str, why: &str| {
        let before = registry.digest("team/agent", "2");
        let refused = stage.alone(arguments);
        assert_eq!(refused.code, 1, "{arguments}: {}", refused.err);
        assert!(refused.err.contains(why) && refused.err.contains("container engine"), "{}", refused.err);
        assert_eq!(registry.digest("team/agent", "2"), before);
    };
    let refuse = |more: &str, why: &str| refuse_all(&format!("{replace} {more}"), why);
    refuse("--label one=1", "--label differs");
    let manifest = root.join("pyproject.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text}# edited\n")).unwrap();
    refuse("", "`pyproject.toml` differs, which is copied before the source");
    fs::write(&manifest, text).unwrap();
    let config = root.join("agent.json");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("\"agent\"", "\"renamed\"")).unwrap();
    refuse("", "the step `ENV LANGSERVE_GRAPHS` differs");
    stage.copy.configure(&json!({ "dockerfile_lines": ["COPY src/hello/*.py /copied/"] }));
    refuse("", "`dockerfile_lines` read files");
    fs::write(&config, text).unwrap();
    let derived = image("derived");
    let dockerfile = root.join("Derived");
    fs::write(&dockerfile, format!("FROM {}\nRUN touch /more\n", image("1"))).unwrap();
    stage.docker(
        host,
        &["build", "-q", "-t", &derived, "-f", dockerfile.to_str().unwrap(), root.to_str().unwrap()],
    );
    fs::remove_file(&dockerfile).unwrap();
    stage.docker(host, &["push", "-q", &derived]);
    refuse_all(&replace.replace(&from, &format!("--from {derived}")), "is not that of the source");
    stage.docker(host, &["tag", &derived, &base]);
    stage.docker(host, &["push", "-q", &base]);
    refuse("", "the base image");
    stage.push_base(&registry);

    // A registry that misbehaves.
    let through = format!("build --no-engine --push -t {through_proxy}/team/agent:3 {based}");
    let through = format!("{through} --from {through_proxy}/team/agent:1");
    let mut run = || {
        edit(&root, &mut random);
        fs::write(root.join("fresh"), fastrand::u64(..).to_string()).unwrap();
        stage.alone(&through)
    };
    let uploads = "/team/agent/blobs/uploads/";
    let lies: &[(&str, &str)] = &[(
        "Docker-Content-Digest",
        "sha256:0000000000000000000000000000000000000000000000000000000000000000",
    )];
    for (method, path, fault, times, code, told) in [
        (
            "PUT",
            "/manifests/3",
            Fault::Answer(201, lies, ""),
            1,
            1,
            "invalid response: the digest is sha256:0000",
        ),
        ("PUT", uploads, Fault::Answer(201, lies, ""), 1, 1, "invalid response: the digest is sha256:0000"),
        ("PUT", "/manifests/3", Fault::BROKEN, 9, 4, "is unavailable: status 500"),
        ("POST", uploads, Fault::Answer(429, &[("Retry-After", "3600")], ""), 1, 4, "retry after 3600 s"),
        (
            "PUT",
            uploads,
            Fault::Answer(403, &[], r#"{"errors":[{"message":"read only"}]}"#),
            1,
            3,
            "denied access: read only",
        ),
        ("HEAD", "/blobs/", Fault::Reset, 9, 4, "is unavailable"),
        ("PUT", uploads, Fault::ResetInRequest, 9, 4, "is unavailable"),
    ] {
        proxy.fail(method, path, fault, times);
        let failed = run();
        proxy.mend();
        assert_eq!(failed.code, code, "{told}: {}", failed.err);
        assert!(failed.err.contains(told) && !failed.err.contains(PASSWORD), "{told}: {}", failed.err);
        assert_eq!(registry.digest("team/agent", "3"), None, "{told}");
    }
    let wrong = Stage::new(Copy::of("hello"), host, address, "no-password-of-it");
    let wrong = wrong.alone(&replace);
    assert_eq!(wrong.code, 3, "{}", wrong.err);
    assert!(wrong.err.contains("docker login") && !wrong.err.contains("no-password-of-it"), "{}", wrong.err);
    proxy.fail("POST", uploads, Fault::BUSY, 1);
    proxy.fail("PUT", uploads, Fault::ResetInRequest, 1);
    let recovered = run();
    assert_eq!(recovered.code, 0, "{}", recovered.err);
    assert_eq!(recovered.err.matches("; trying again in 1 s").count(), 2, "{}", recovered.err);
    assert!(registry.digest("team/agent", "3").is_some());

    for host in hosts() {
        let names = ["1", "2", "engine", "derived"].map(image);
        [&names[..], std::slice::from_ref(&base)]
            .concat()
            .iter()
            .for_each(|name| drop(try_docker(&host, &["rmi", "-f", name])));
    }
}
