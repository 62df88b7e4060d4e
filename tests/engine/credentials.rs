//! Registry credentials: Docker's configuration, helpers that speak the real protocol, and who gets to see what.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use agentcli::engine::{BuildEvent, Engine, EngineEnv, Error};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use tempfile::TempDir;

use super::fake::{self, End};
use super::{env, hosts, request, wait};
use crate::harness::until;

/// A helper as `docker login` uses it, that notes what it is asked.
fn helper(dir: &Path, name: &str, script: &str) {
    let path = dir.join(format!("docker-credential-{name}"));
    fs::write(
        &path,
        format!("#!/bin/sh\nread -r server\necho \"$1 $server\" >>'{}'/asked\n{script}\n", dir.display()),
    )
    .unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn asked(dir: &Path) -> String {
    fs::read_to_string(dir.join("asked")).unwrap_or_default()
}

/// What an engine without BuildKit gets in the header when `images` are needed, and the warnings.
fn header(dir: &Path, config: &str, images: &[&str]) -> (HashMap<String, serde_json::Value>, Vec<String>) {
    fs::write(dir.join("config.json"), config).unwrap();
    let line = r#"{"aux":{"ID":"sha256:1"}}"#.to_owned();
    let (host, _keep, heads) = fake::engine(&[line], End::Whole);
    let env = EngineEnv {
        config: Some(dir.to_owned()),
        path: Some(std::env::join_paths([dir]).unwrap()),
        ..env(&host)
    };
    let mut request = request(TempDir::new().unwrap().path().parent().unwrap(), "FROM x\n");
    request.context.ignore = agentcli::compiler::manifests::dockerignore::Ignore::parse("*").unwrap();
    request.images = images.iter().map(|image| (*image).to_owned()).collect();
    request.pull = true;
    let mut warnings = Vec::new();
    let events = |event| {
        if let BuildEvent::Warning { message } = event {
            warnings.push(message)
        }
    };
    wait(async {
        let engine = Engine::connect(&env).await.unwrap();
        engine.build(request, events).await.unwrap();
    });
    let head = heads.try_iter().find(|head| head.starts_with("POST /build")).unwrap();
    let value = head.lines().find_map(|line| line.strip_prefix("x-registry-config: "));
    let json = value.map_or(b"{}".to_vec(), |value| URL_SAFE.decode(value).unwrap());
    (serde_json::from_slice(&json).unwrap(), warnings)
}

#[test]
fn what_is_in_the_configuration() {
    let dir = TempDir::new().unwrap();
    let auth = STANDARD.encode("me:pass:word");
    let config = format!(
        r#"{{"auths":{{"https://index.docker.io/v1/":{{"auth":"{auth}"}},"https://ghcr.io/v2/":{{"auth":"{auth}"}},
        "token.example":{{"identitytoken":"abc"}},"unused.example":{{"auth":"{auth}"}}}}}}"#
    );
    let images = ["python:3.11", "ghcr.io/a/b:1", "token.example/x", "token.example/y", "localhost:5000/z"];
    let (sent, warnings) = header(dir.path(), &config, &images);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(sent.len(), 3, "{sent:?}");
    let hub = &sent["https://index.docker.io/v1/"];
    assert_eq!((hub["username"].as_str(), hub["password"].as_str()), (Some("me"), Some("pass:word")));
    assert_eq!(sent["ghcr.io"]["username"], "me");
    assert_eq!(sent["token.example"]["identitytoken"], "abc");
}

#[test]
fn helpers() {
    let dir = TempDir::new().unwrap();
    helper(dir.path(), "one", r#"echo '{"ServerURL":"x","Username":"u","Secret":"s"}'"#);
    helper(dir.path(), "two", r#"echo '{"ServerURL":"x","Username":"<token>","Secret":"t"}'"#);
    helper(dir.path(), "none", "echo 'credentials not found in native keychain'; exit 1");
    helper(dir.path(), "broken", "echo 'it is locked'; exit 1");
    let config = r#"{"credsStore":"one","credHelpers":{"b.example":"two","c.example":"none","d.example":"broken",
        "e.example":"absent"}}"#;
    let images = ["python", "b.example/x", "c.example/x", "d.example/x", "e.example/x"];
    let (sent, warnings) = header(dir.path(), config, &images);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(sent["https://index.docker.io/v1/"]["password"], "s");
    assert_eq!(sent["b.example"]["identitytoken"], "t");
    assert_eq!(
        warnings,
        [
            "cannot get credentials for `d.example` from the helper `broken`: exit code 1: it is locked",
            "cannot get credentials for `e.example` from the helper `absent`: `docker-credential-absent` is not in \
             the PATH",
        ]
    );
    assert_eq!(
        asked(dir.path()),
        "get b.example\nget c.example\nget d.example\nget https://index.docker.io/v1/\n"
    );
}

/// Also what it has started, and that did not leave its process group.
#[test]
fn an_interrupted_build_kills_a_hanging_helper() {
    let dir = TempDir::new().unwrap();
    let pids = dir.path().join("pids");
    helper(
        dir.path(),
        "one",
        &format!("sleep 1000 & echo $$ $! >'{0}.new'; mv '{0}.new' '{0}'; wait", pids.display()),
    );
    fs::write(dir.path().join("config.json"), r#"{"credsStore":"one"}"#).unwrap();
    let (host, _keep, _heads) = fake::engine(&[], End::Whole);
    let path = std::env::join_paths([dir.path().as_os_str(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    let env = EngineEnv { config: Some(dir.path().to_owned()), path: Some(path), ..env(&host) };
    let mut request = request(dir.path(), "FROM x\n");
    (request.images, request.pull) = (vec!["x".to_owned()], true);
    wait(async {
        let engine = Engine::connect(&env).await.unwrap();
        let started = async {
            while !pids.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            built = engine.build(request, |_| ()) => panic!("it does not wait for the helper: {built:?}"),
            () = started => {}
        }
    });
    let runs = |pid: &str| !fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().is_empty();
    let pids = fs::read_to_string(pids).unwrap();
    until(|| !pids.split_whitespace().any(runs), || format!("it still runs: {pids}"));
}

#[test]
fn no_helper_is_started_for_an_image_that_is_here() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        helper(dir.path(), "one", "exit 1");
        fs::write(dir.path().join("config.json"), r#"{"credsStore":"one"}"#).unwrap();
        let path = Some(dir.path().as_os_str().to_owned());
        let env = EngineEnv { config: Some(dir.path().to_owned()), path, ..env(&host) };
        let mut request = request(dir.path(), &format!("FROM {}\nCOPY config.json /\n", super::BASE));
        request.images = vec![super::BASE.to_owned()];
        wait(async {
            let engine = Engine::connect(&env).await.unwrap();
            engine.build(request, |_| ()).await.unwrap();
        });
        assert_eq!(asked(dir.path()), "");
    }
}

#[test]
fn the_engine_shows_them_to_the_registry() {
    for host in hosts() {
        let (registry, seen) = fake::registry();
        let dir = TempDir::new().unwrap();
        let image = format!("{registry}/private:1");
        let attempt = |config: &str| {
            fs::write(dir.path().join("config.json"), config).unwrap();
            let env = EngineEnv { config: Some(dir.path().to_owned()), ..env(&host) };
            let mut request = request(dir.path(), &format!("FROM {image}\nCOPY . /\n"));
            request.images = vec![image.clone()];
            wait(async {
                let engine = Engine::connect(&env).await.unwrap();
                engine.build(request, |_| ()).await.unwrap_err()
            })
        };
        let error = attempt("{}");
        assert!(matches!(&error, Error::Pull { unauthorized: true, .. }), "{host}: {error}");
        assert!(error.hint().unwrap().contains("docker login"));

        let auth = STANDARD.encode("me:secret");
        let error = attempt(&format!(r#"{{"auths":{{"{registry}":{{"auth":"{auth}"}}}}}}"#));
        assert!(matches!(&error, Error::Pull { unauthorized: false, .. }), "{host}: {error}");
        assert!(seen.try_iter().flatten().any(|sent| sent == format!("Basic {auth}")), "{host}");
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
