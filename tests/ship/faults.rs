//! A bad connection to the service.

use serde_json::json;

use super::{Stage, deployments, events, named, revisions};
use crate::host::service::Host;
use crate::proxy::{Fault, Proxy};

/// One deployment with one revision that is deployed, whatever went wrong.
fn assert_done(fault: impl FnOnce(&Proxy)) {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    fault(&proxy);
    let events = Stage::new(&proxy.url()).events("--name x --remote");
    assert_eq!(events.last().unwrap()["status"], "deployed");
    assert_eq!(named(&events, "created").len(), 1);
    let [found] = &deployments(&host)[..] else { panic!("not one deployment") };
    assert_eq!(revisions(&host, found).len(), 1);
}

#[test]
fn a_lost_answer_makes_no_second_deployment() {
    for fault in
        [Fault::Lost, Fault::ResetInAnswer, Fault::Truncated, Fault::Reset, Fault::BROKEN, Fault::GATEWAY]
    {
        assert_done(|proxy| proxy.fail("POST", "/v2/deployments", fault, 1));
    }
}

#[test]
fn a_lost_answer_makes_no_second_revision() {
    for fault in [Fault::Lost, Fault::ResetInAnswer, Fault::Truncated, Fault::Reset, Fault::BUSY] {
        assert_done(|proxy| proxy.fail("PATCH", "/v2/deployments/", fault, 1));
    }
}

#[test]
fn an_upload_is_begun_again() {
    for fault in [Fault::Reset, Fault::ResetInRequest, Fault::Lost, Fault::BUSY, Fault::GATEWAY] {
        assert_done(|proxy| proxy.fail("PUT", "/uploads/", fault, 2));
    }
}

#[test]
fn questions_are_asked_again() {
    for fault in [Fault::Reset, Fault::ResetInAnswer, Fault::BUSY, Fault::GATEWAY, Fault::Hang] {
        assert_done(|proxy| proxy.fail("GET", "/v2/deployments", fault, 1));
    }
}

#[test]
fn what_stays_broken_is_an_error_in_bounded_time() {
    for (method, path) in
        [("GET", "/v2/deployments"), ("POST", "/v2/deployments"), ("PUT", "/uploads/"), ("PATCH", "/v2/")]
    {
        let host = Host::start(|_| {});
        let proxy = Proxy::start(host.address());
        proxy.fail(method, path, Fault::GATEWAY, usize::MAX);
        let output = Stage::new(&proxy.url()).deploy("--name x --remote");
        assert_eq!(output.code, 4, "{method}: {}", output.err);
        assert!(output.err.contains(method), "{}", output.err);
        // Whatever there is by then is taken up by the next.
        proxy.mend();
        assert_eq!(Stage::new(&proxy.url()).deploy("--name x --remote").code, 0);
        assert_eq!(deployments(&host).len(), 1);
    }
}

/// Somebody makes a deployment of the same name between the look for it and the creation.
#[test]
fn who_comes_second_goes_on_with_the_deployment_of_the_first() {
    const NONE: Fault =
        Fault::Answer(200, &[("Content-Type", "application/json")], r#"{"resources":[],"offset":0}"#);
    for (source, code) in [("internal_source", 0), ("internal_container", 1)] {
        let host = Host::start(|_| {});
        let proxy = Proxy::start(host.address());
        let body = json!({ "name": "x", "source": source, "source_config": {},
            "source_revision_config": {}, "secrets": [] });
        let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
        proxy.fail("GET", "/v2/deployments?", NONE, 1);
        let output = Stage::new(&proxy.url()).deploy("--name x --remote --json");
        assert_eq!(output.code, code, "{source}: {}", output.err);
        assert_eq!(
            output.err.contains("conflicts with the current state"),
            code == 1,
            "{source}: {}",
            output.err
        );
        let said = events(&output);
        assert!(named(&said, "created").is_empty());
        assert_eq!((deployments(&host).len(), revisions(&host, &made).len()), (1, 1 - code as usize));
        assert_eq!(named(&said, "found").len(), 1 - code as usize);
    }
}

/// The service is not there for a while.
const AWAY: Fault =
    Fault::Answer(503, &[("Content-Type", "application/json")], r#"{"detail":"Service Unavailable"}"#);

/// More often than one look tries.
const OFTEN: usize = 23;

#[test]
fn a_watch_goes_on_once_the_service_is_back() {
    for fault in [AWAY, Fault::GATEWAY, Fault::Reset] {
        assert_done(|proxy| proxy.fail("GET", "/revisions/", fault, OFTEN));
    }
}

#[test]
fn a_watch_of_a_service_that_stays_away_ends() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    proxy.fail("GET", "/revisions/", AWAY, usize::MAX);
    let output = Stage::new(&proxy.url()).deploy("--name x --remote --json --timeout 1");
    assert_eq!(output.code, 4, "{}", output.err);
    assert!(output.err.contains("the revision continues"), "{}", output.err);
    let said = events(&output);
    assert_eq!(said.last().unwrap()["status"], "pending");
    let warnings = named(&said, "warning");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0]["message"].as_str().unwrap().contains("status 503"), "{warnings:?}");
}

#[test]
fn where_to_send_is_asked_again() {
    for fault in [Fault::Reset, Fault::ResetInAnswer, AWAY, Fault::GATEWAY] {
        assert_done(|proxy| proxy.fail("", "/upload-url", fault, 2));
    }
}

#[test]
fn nothing_is_sent_after_a_redirect() {
    let host = Host::start(|_| {});
    let other = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    proxy.fail("GET", "/v2/deployments", Fault::Redirect(302, other.url()), usize::MAX);
    let output = Stage::new(&proxy.url()).deploy("--name x --remote");
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(deployments(&host).is_empty() && deployments(&other).is_empty());
}
