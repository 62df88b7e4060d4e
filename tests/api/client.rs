//! The calls that make something: an answer that is lost is never a second deployment, revision or upload.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use agentcli::api::wire::{Deployment, DeploymentCreation, DeploymentPatch, Source, UploadUrl};
use agentcli::api::{Archive, DeploymentFilter, Error, RetryPolicy};
use serde_json::json;

use super::{Scene, block_on, client, creation, image};
use crate::host::service::{Host, KEY};
use crate::proxy::{Fault, Proxy};

fn record(name: &str) -> DeploymentCreation {
    serde_json::from_value(creation(name)).unwrap()
}

/// What may happen to an answer that is under way, or to the request.
fn lost() -> Vec<Fault> {
    vec![
        Fault::Lost,
        Fault::Reset,
        Fault::ResetInRequest,
        Fault::ResetInAnswer,
        Fault::Hang,
        Fault::Truncated,
        Fault::WrongType,
        Fault::GATEWAY,
        Fault::BROKEN,
        Fault::BUSY,
    ]
}

#[test]
fn a_lost_answer_makes_no_second_deployment() {
    let scene = Scene::new();
    for (index, fault) in lost().into_iter().enumerate() {
        let name = format!("made-{index}");
        scene.proxy.fail("POST", "/v2/deployments", fault.clone(), 1);
        let made = block_on(client(scene.proxy.address()).create(&record(&name)));
        let made = made.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(made.name, name, "{fault:?}");
        assert_eq!(scene.names().iter().filter(|it| **it == name).count(), 1, "{fault:?}");
    }
}

#[test]
fn a_creation_that_cannot_be_is_told_and_made_once_at_most() {
    let scene = Scene::new();
    for (index, fault) in lost().into_iter().enumerate() {
        let name = format!("tried-{index}");
        let is_done =
            matches!(fault, Fault::Lost | Fault::ResetInAnswer | Fault::Truncated | Fault::WrongType);
        scene.proxy.fail("POST", "/v2/deployments", fault.clone(), 100);
        let begun = Instant::now();
        let made = block_on(client(scene.proxy.address()).create(&record(&name)));
        assert!(begun.elapsed() < Duration::from_secs(30), "{fault:?}");
        assert_eq!(made.is_ok(), is_done, "{fault:?}: {made:?}");
        let count = scene.names().iter().filter(|it| **it == name).count();
        assert_eq!(count, usize::from(is_done), "{fault:?}");
        scene.proxy.mend();
    }
}

#[test]
fn the_same_name_is_a_conflict() {
    let scene = Scene::new();
    let error = block_on(client(scene.proxy.address()).create(&record("agent"))).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    assert!(error.hint().unwrap().contains("choose another name"), "{error}");
}

#[test]
fn a_lost_answer_makes_no_second_revision() {
    let scene = Scene::new();
    let client = client(scene.proxy.address());
    for (index, fault) in lost().into_iter().enumerate() {
        let before = block_on(client.deployment(&scene.id)).unwrap();
        let digit = char::from_digit(index as u32, 16).unwrap();
        let patch: DeploymentPatch =
            serde_json::from_value(json!({"source_revision_config": {"image_uri": image(digit)}})).unwrap();
        scene.proxy.fail("PATCH", "/v2/deployments", fault.clone(), 1);
        let patched = block_on(client.patch(&before, &patch));
        let patched = patched.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_ne!(patched.latest_revision_id, before.latest_revision_id, "{fault:?}");
        assert_eq!(scene.revisions(), index + 2, "{fault:?}");
    }
}

#[test]
fn rules_are_checked_before_anything_is_sent() {
    let scene = Scene::new();
    let client = client(scene.proxy.address());
    let before = block_on(client.deployment(&scene.id)).unwrap();
    let sent = scene.proxy.heads().len();
    let filter = DeploymentFilter::default();
    for limit in [0, 101] {
        let error = block_on(client.list_deployments(&filter, limit, 0)).unwrap_err();
        assert!(error.to_string().contains("between 1 and 100"), "{error}");
    }
    let nothing = || vec!["nothing".to_owned()];
    for (filter, told) in [
        (
            DeploymentFilter { deployment_type: Some("huge".into()), ..DeploymentFilter::default() },
            "`huge` is not a type of deployment; use one of dev_free, dev, prod",
        ),
        (
            DeploymentFilter { deployment_ids: nothing(), ..DeploymentFilter::default() },
            "`nothing` is not the ID of a deployment",
        ),
        (
            DeploymentFilter { tag_value_ids: nothing(), ..DeploymentFilter::default() },
            "`nothing` is not the ID of a tag value",
        ),
    ] {
        let error = block_on(client.deployments(&filter, None)).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    for id in ["", "..", "1/../2", "0123", "01234567-89ab-cdef-0123-456789abcdeg"] {
        let error = block_on(client.deployment(id)).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{id}: {error}");
    }
    for (patch, told) in [
        (json!({"name": "other"}), "cannot change `name` of a deployment"),
        (json!({"source": "codehost"}), "cannot change `source` of a deployment"),
        (json!({"status": "READY"}), "cannot change `status` of a deployment"),
        (
            json!({"revision_source": "external_container"}),
            "cannot make a revision from `external_container`",
        ),
        (json!({"revision_source": "internal_template"}), "cannot make a revision from `internal_template`"),
        (json!({"secret_references": []}), "external_container"),
        (json!({"source_revision_config": {"repo_commit_sha": "1"}}), "`repo_commit_sha` is read-only"),
    ] {
        let patch: DeploymentPatch = serde_json::from_value(patch).unwrap();
        let error = block_on(client.patch(&before, &patch)).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    let mut creation = record("other");
    creation.source_revision_config.repo_commit_sha = Some("1".to_owned());
    assert!(matches!(block_on(client.create(&creation)), Err(Error::Invalid { .. })));
    assert_eq!(scene.proxy.heads().len(), sent);
}

#[test]
fn lists_are_read_to_the_last_page() {
    let host = Host::start(|_| {});
    host.set_quotas("deployments=205 replicas=205");
    let names: Vec<String> = (0..205).map(|index| format!("agent-{index:03}")).collect();
    for name in &names {
        host.expect(201, "POST", "/v2/deployments", Some(&creation(name)));
    }
    let client = client(host.address());
    let all = block_on(client.deployments(&DeploymentFilter::default(), None)).unwrap();
    let mut found: Vec<String> = all.into_iter().map(|it| it.name).collect();
    found.sort();
    assert_eq!(found, names);
    for name in ["agent-000", "agent-100", "agent-204"] {
        assert_eq!(block_on(client.find_by_name(name)).unwrap().unwrap().name, name);
    }
    assert_eq!(block_on(client.find_by_name("agent-20")).unwrap(), None);
    let some = block_on(client.deployments(&DeploymentFilter::default(), Some(150))).unwrap();
    assert_eq!(some.len(), 150);
}

#[test]
fn the_key_does_not_follow_a_redirect() {
    let scene = Scene::new();
    let elsewhere = Proxy::start(scene.host.address());
    for status in [301, 302, 303, 307, 308] {
        let to = format!("{}/v2/deployments?hidden=1", elsewhere.url());
        scene.proxy.fail("GET", "/v2/deployments", Fault::Redirect(status, to), 1);
        let error = block_on(client(scene.proxy.address()).deployment(&scene.id)).unwrap_err();
        assert!(matches!(&error, Error::Redirected { target, .. } if *target == elsewhere.url()), "{error}");
    }
    assert_eq!(elsewhere.heads(), Vec::<String>::new());
}

/// An archive that is made of its own positions.
struct Numbers {
    at: u64,
    length: u64,
}

impl Read for Numbers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min((self.length - self.at) as usize);
        for byte in &mut buffer[..count] {
            *byte = (self.at % 251) as u8;
            self.at += 1;
        }
        Ok(count)
    }
}

const LENGTH: u64 = 3_000_000;

fn numbers() -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(Numbers { at: 0, length: LENGTH }))
}

/// A deployment that takes archives, and where to put one, through the proxy.
fn target(scene: &Scene, name: &str) -> (Deployment, UploadUrl) {
    let client = client(scene.proxy.address());
    let mut creation = record(name);
    creation.source = Source::InternalSource;
    let deployment = block_on(client.create(&creation)).unwrap();
    let target = block_on(client.upload_url(&deployment.id)).unwrap();
    (deployment, target)
}

#[test]
fn an_archive_is_uploaded_without_the_key_and_again_when_it_breaks_off() {
    let scene = Scene::new();
    let client = client(scene.proxy.address());
    let archive = Archive { length: LENGTH, open: &numbers };
    let faults =
        [Fault::Reset, Fault::ResetInRequest, Fault::Lost, Fault::BROKEN, Fault::GATEWAY, Fault::Hang];
    for (index, fault) in faults.into_iter().enumerate() {
        let (_, target) = target(&scene, &format!("archive-{index}"));
        scene.proxy.fail("PUT", "/", fault.clone(), 1);
        let mut told = Vec::new();
        let uploaded = block_on(client.upload(&target, &archive, &mut |sent| told.push(sent)));
        uploaded.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(told.last(), Some(&LENGTH), "{fault:?}");
        assert!(told.iter().filter(|sent| **sent == 0).count() >= 2, "{fault:?}: {told:?}");
    }
    let puts: Vec<String> = scene.proxy.heads().into_iter().filter(|head| head.starts_with("PUT")).collect();
    assert!(!puts.is_empty() && puts.iter().all(|head| !head.contains(KEY)), "{puts:?}");
}

#[test]
fn an_upload_that_cannot_be_ends() {
    let scene = Scene::new();
    let client = client(scene.proxy.address());
    let (_, target) = target(&scene, "archive");
    let gone = || Err(io::Error::other("gone"));
    let archive = Archive { length: LENGTH, open: &gone };
    let error = block_on(client.upload(&target, &archive, &mut |_| {})).unwrap_err();
    assert!(matches!(error, Error::Archive(_)), "{error}");
    let short = || Ok(Box::new(io::empty()) as Box<dyn Read + Send>);
    let archive = Archive { length: LENGTH, open: &short };
    assert!(block_on(client.upload(&target, &archive, &mut |_| {})).is_err());
    scene.proxy.fail("PUT", "/", Fault::Reset, 100);
    let archive = Archive { length: LENGTH, open: &numbers };
    let error = block_on(client.upload(&target, &archive, &mut |_| {})).unwrap_err().to_string();
    assert!(!error.contains(target.upload_url.expose()), "{error}");
}

/// An archive that never ends, and is never quite still.
struct Trickle;

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(20));
        buffer[0] = 0;
        Ok(1)
    }
}

#[test]
fn an_upload_that_goes_on_and_on_ends() {
    let scene = Scene::new();
    let (_, target) = target(&scene, "archive");
    let retry_policy = RetryPolicy { upload: Duration::from_secs(2), ..RetryPolicy::default() };
    let client = client(scene.proxy.address()).with_retry_policy(retry_policy);
    let open = || Ok(Box::new(Trickle) as Box<dyn Read + Send>);
    let archive = Archive { length: LENGTH, open: &open };
    let mut sent = 0;
    let upload = async {
        let mut progress = |now| sent = now;
        tokio::time::timeout(Duration::from_secs(30), client.upload(&target, &archive, &mut progress)).await
    };
    let error = block_on(upload).expect("it ends").unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    assert!(sent > 0 && sent < LENGTH, "{sent}");
}

#[test]
fn an_upload_address_that_is_no_longer_valid_is_no_matter_of_the_key() {
    let scene = Scene::new();
    let client = client(scene.proxy.address());
    let (_, target) = target(&scene, "archive");
    let archive = Archive { length: LENGTH, open: &numbers };
    for status in [401, 403] {
        let before = scene.proxy.heads().len();
        scene.proxy.fail("PUT", "/", Fault::Answer(status, &[], ""), 1);
        let error = block_on(client.upload(&target, &archive, &mut |_| {})).unwrap_err();
        let hint = error.hint().unwrap();
        assert!(hint.contains("deploy again") && !hint.contains("key"), "{error}: {hint}");
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        assert_eq!(agentcli::error::Error::from(error).exit_code(), 4);
        assert_eq!(scene.proxy.heads().len(), before + 1, "it is not tried again");
    }
}
