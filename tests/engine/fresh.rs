//! What an image was made from is remembered as it was sent, and only where all of it is known.

use std::fs;
use std::path::Path;

use agentcli::engine::{BuildEvent, BuildRequest, Built, Engine, EngineEnv};
use tempfile::TempDir;

use super::fake::{self, End};
use super::{BASE, docker, env, fresh, hosts, request, wait};

/// Builds with a memory; `sending` runs when the context is about to be sent. Whether anything was built.
fn build(host: &str, cache: &Path, request: BuildRequest, sending: impl Fn()) -> (Built, bool) {
    let mut is_built = true;
    let events = |event: BuildEvent| match event {
        BuildEvent::Context { .. } => sending(),
        BuildEvent::UpToDate { .. } => is_built = false,
        _ => {}
    };
    let built = wait(async {
        let engine =
            Engine::connect(&EngineEnv { cache: Some(cache.to_owned()), ..env(host) }).await.unwrap();
        engine.build(request, events).await.unwrap()
    });
    (built, is_built)
}

fn known(root: &Path, tag: &str) -> BuildRequest {
    let request = request(root, &format!("FROM {BASE}\nCOPY file /file\n"));
    BuildRequest { tags: vec![tag.to_owned()], images: vec![BASE.to_owned()], images_known: true, ..request }
}

#[test]
fn a_file_that_changes_before_it_is_sent_counts_as_sent() {
    for host in hosts() {
        let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let tag = format!("agentcli-test:{}", fresh());
        let build = |sending: &dyn Fn()| build(&host, cache.path(), known(root.path(), &tag), sending);
        let write = |text: &str| fs::write(root.path().join("file"), format!("{text}{tag}")).unwrap();
        write("one");
        let (changed, _) = build(&|| write("two"));
        let (same, is_built) = build(&|| {});
        assert_eq!((&same.id, is_built), (&changed.id, false), "{host}: what was sent is what is there");
        write("one");
        let (first, is_built) = build(&|| {});
        assert!(is_built && first.id != changed.id, "{host}: what was listed was never sent");
        assert!(!build(&|| {}).1, "{host}");
        docker(&host, &["rmi", "-f", &tag]);
    }
}

#[test]
fn a_request_that_says_too_little_is_built() {
    for host in hosts() {
        let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(root.path().join("file"), "x").unwrap();
        let tag = format!("agentcli-test:{}", fresh());
        for _ in 0..2 {
            let request = BuildRequest { images_known: false, ..known(root.path(), &tag) };
            assert!(build(&host, cache.path(), request, || {}).1, "{host}");
            let nameless = BuildRequest { tags: Vec::new(), ..known(root.path(), &tag) };
            assert!(build(&host, cache.path(), nameless, || {}).1, "{host}");
        }
        docker(&host, &["rmi", "-f", &tag]);
    }
}

#[test]
fn an_engine_that_knows_no_image_builds() {
    let done = r#"{"aux":{"ID":"sha256:1"}}"#.to_owned();
    let (host, _kept, _) = fake::engine(&[done], End::Whole);
    let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(root.path().join("file"), "x").unwrap();
    for _ in 0..2 {
        let (built, is_built) = build(&host, cache.path(), known(root.path(), "tag"), || {});
        assert_eq!((&*built.id, is_built), ("sha256:1", true));
    }
}
