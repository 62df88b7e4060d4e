//! The file is written from a real registry, without an engine.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{digest, text};
use crate::harness::{Output, TestEnv, VALID};
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry, USER};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Puts an image for a platform under a tag; returns its digest.
fn put_image(registry: &Registry, tag: &str, architecture: &str, word: &str) -> String {
    let settings =
        json!({ "os": "linux", "architecture": architecture, "config": { "Labels": { "word": word } } });
    let settings = settings.to_string();
    let config = json!({
        "mediaType": "application/vnd.oci.image.config.v1+json",
        "size": settings.len(),
        "digest": registry.put_blob("team/base", &settings),
    });
    let manifest = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [] });
    registry.put_manifest("team/base", tag, MANIFEST, &manifest.to_string());
    registry.digest("team/base", tag).unwrap()
}

/// Puts an index of two platforms and an attestation under a tag; returns its digest and those of the platforms.
fn put_index(registry: &Registry, tag: &str, word: &str) -> [String; 3] {
    let platforms = [("linux", "arm64"), ("linux", "amd64"), ("unknown", "unknown")];
    let images = platforms.map(|(os, architecture)| {
        let of_platform = format!("{tag}-{architecture}");
        let digest = put_image(registry, &of_platform, architecture, word);
        let size = registry.get("team/base", &format!("manifests/{of_platform}")).len();
        let platform = json!({ "os": os, "architecture": architecture });
        (
            digest.clone(),
            json!({ "mediaType": MANIFEST, "size": size, "digest": digest, "platform": platform }),
        )
    });
    let [(arm64, _), (amd64, _), _] = images.clone();
    let manifests = images.map(|(_, entry)| entry);
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    registry.put_manifest("team/base", tag, INDEX, &index.to_string());
    [registry.digest("team/base", tag).unwrap(), amd64, arm64]
}

/// A project on this image, whose user is logged in to `registry` with `password`.
fn project(registry: &str, tag: &str, password: &str) -> TestEnv {
    let auth = json!({ "auth": STANDARD.encode(format!("{USER}:{password}")) });
    let login = json!({ "auths": { registry: auth } });
    let member = format!(r#"{{ "base_image": "{registry}/team/base:{tag}", "#);
    let env = TestEnv::project()
        .file("agent.json", VALID.replacen('{', &member, 1))
        .file("docker/config.json", login.to_string());
    let directory = env.path("docker").display().to_string();
    env.variable("DOCKER_CONFIG", &directory).variable("DOCKER_HOST", "unix:///none")
}

fn read(env: &TestEnv) -> String {
    fs::read_to_string(env.path("agent.lock")).unwrap()
}

fn run(env: &TestEnv, arguments: &str) -> Output {
    let run = env.run(arguments);
    assert_eq!(run.code, 0, "{}", run.err);
    run
}

#[test]
fn images_are_locked_once_and_upgraded_when_asked() {
    let registry = Registry::start();
    let address = &registry.address;
    let [index, amd64, arm64] = put_index(&registry, "1", "one");
    let env = project(address, "1", PASSWORD);
    let locked = run(&env, "lock --server memory agent.json");
    assert_eq!(
        locked.err.lines().skip(1).collect::<Vec<_>>(),
        [&*format!("locked {address}/team/base:1 at {index}"), "wrote agent.lock"]
    );
    let before = read(&env);
    assert_eq!(
        before,
        format!(
            "# Written by `agentcli lock`. Commit it: builds with --locked use these images.\nversion = 1\n\n[server]\n\
             name = \"memory\"\nversion = \"0.16.7\"\n\n[[image]]\nname = \"{address}/team/base:1\"\ndigest = \"{index}\"\n\n\
             [image.platforms]\n\"linux/amd64\" = \"{amd64}\"\n\"linux/arm64\" = \"{arm64}\"\n"
        )
    );
    let from = format!("FROM {address}/team/base:1@{index}\n");
    assert!(run(&env, "dockerfile - --locked --server memory").out.contains(&from));

    // The tag moves.
    let [moved, ..] = put_index(&registry, "1", "two");
    assert_ne!(moved, index);
    let again = run(&env, "lock --server memory");
    assert!(again.err.ends_with("agent.lock is up to date\n"), "{}", again.err);
    assert_eq!(read(&env), before);
    run(&env, "lock --check --server memory");
    run(&env, "lock --server memory --upgrade");
    assert!(read(&env).contains(&moved) && !read(&env).contains(&index));

    // Services of the file stay: nobody asks for them, since Docker Hub is unreachable here.
    let services = [("pgvector/pgvector:pg16", 'b'), ("redis:6", 'c')];
    let image = format!("{address}/team/base:1");
    let stale = text("pg", &[&[(&*image, 'a')][..], &services].concat());
    let env = env.file("agent.lock", &stale);
    let upgraded = run(&env, "lock --upgrade base");
    assert!(upgraded.err.contains(&format!("locked {image} at {moved}\n")), "{}", upgraded.err);
    assert!(services.iter().all(|(_, digit)| read(&env).contains(&digest(*digit))), "{}", read(&env));
    assert!(read(&env).contains("name = \"licensed\"\n"), "{}", read(&env));
    let refused = env.run("lock --upgrade redi");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("agent.lock has no image `redi`") && refused.err.contains("`redis:6`"),
        "{}",
        refused.err
    );
    let fewer = run(&env, "lock --no-services");
    assert!(fewer.err.contains("removed redis:6\n"), "{}", fewer.err);

    // An image of one platform, and one with a digest in the configuration.
    let one = put_image(&registry, "2", "amd64", "three");
    let env = project(address, "2", PASSWORD);
    run(&env, "lock --no-services");
    assert!(
        read(&env)
            .ends_with(&format!("digest = \"{one}\"\n\n[image.platforms]\n\"linux/amd64\" = \"{one}\"\n"))
    );
    let env = project(address, &format!("1@{index}"), PASSWORD);
    run(&env, "lock --no-services");
    assert!(read(&env).contains(&format!("name = \"{address}/team/base:1\"\ndigest = \"{index}\"\n")));
    assert!(run(&env, "dockerfile - --locked").out.contains(&from));
}

#[test]
fn a_registry_that_fails_leaves_the_file() {
    let registry = Registry::start();
    let proxy = Proxy::start(registry.address.parse().unwrap());
    put_index(&registry, "1", "one");
    let wrong_password = "no-password-of-it";
    let through = proxy.address().to_string();
    let liar: Fault = Fault::Answer(200, &[("Docker-Content-Digest", LIE)], "{}");
    for (registry, tag, password, fault, code, why) in [
        (&registry.address, "9", PASSWORD, None, 1, "refused with status 404: there is no such image"),
        (&registry.address, "1", wrong_password, None, 3, "denied access"),
        (&"127.0.0.1:1".to_owned(), "1", PASSWORD, None, 4, "is unavailable"),
        (&through, "1", PASSWORD, Some(liar), 1, "gave an invalid response: the digest is sha256:"),
        (&through, "1", PASSWORD, Some(Fault::BROKEN), 4, "is unavailable: status 500"),
        (&through, "1", PASSWORD, Some(Fault::Answer(200, &[], "{}")), 1, "gave an invalid response"),
    ] {
        let env = project(registry, tag, password);
        if let Some(fault) = fault {
            proxy.fail("GET", "/v2/team/base/manifests/", fault, 20);
        }
        let failed = env.run("lock --server memory");
        assert_eq!(failed.code, code, "{}", failed.err);
        assert!(
            failed.err.contains(&format!("cannot read the image `{registry}/team/base:{tag}`")),
            "{}",
            failed.err
        );
        assert!(failed.err.contains(why), "{}", failed.err);
        assert!(![PASSWORD, wrong_password].iter().any(|it| failed.err.contains(it)), "{}", failed.err);
        assert!(!env.path("agent.lock").exists());
        proxy.mend();
    }
    // A directory that cannot be written.
    let env = project(&registry.address, "1", PASSWORD);
    std::os::unix::fs::symlink("/proc/none/agent.lock", env.path("agent.lock")).unwrap();
    let failed = env.run("lock --server memory");
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert!(failed.err.contains("agent.lock"), "{}", failed.err);
}

const LIE: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
