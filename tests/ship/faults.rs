//! A bad connection to the service.

use super::{Stage, deployments, named, revisions};
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
