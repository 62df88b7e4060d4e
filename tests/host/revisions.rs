//! Revisions come about.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Value, json};

use super::service::Host;
use super::stand_in::Fault;
use super::{created, deployed, image, messages, wrong};

#[test]
fn statuses_move_in_order() {
    let host = Host::start(|knobs| knobs.runner.pace = Duration::from_millis(50));
    let id = created(&host, "app");
    let revision = deployed(&host, &id, &image('1'));
    let seen = RefCell::new(Vec::new());
    host.until(&revision, |it| {
        seen.borrow_mut().push(it["status"].as_str().unwrap().to_owned());
        it["status"] == "DEPLOYED"
    });
    // A slow machine may miss some; none comes twice or before another.
    let mut order = ["CREATING", "AWAITING_DEPLOY", "DEPLOYING", "DEPLOYED"].into_iter();
    let mut seen = seen.into_inner();
    seen.dedup();
    assert!(seen.iter().all(|status| order.any(|known| known == status)), "{seen:?}");
    let log = host.expect(200, "GET", &format!("{revision}/logs"), None);
    assert_eq!(messages(&log).len(), 3, "{log}");
}

#[test]
fn a_newer_revision_takes_the_place_of_one_that_waits() {
    let host = Host::start(|knobs| knobs.runner.faults = vec![(1, Fault::Stall)]);
    let id = created(&host, "app");
    let path = format!("/v2/deployments/{id}");
    let first = deployed(&host, &id, &image('1'));
    host.until(&first, |it| it["status"] == "DEPLOYING");
    let second = deployed(&host, &id, &image('2'));
    host.until(&second, |it| it["status"] == "QUEUED");
    let third = deployed(&host, &id, &image('3'));
    host.until(&third, |it| it["status"] == "QUEUED");
    let stopped = host.expect(200, "POST", &format!("{first}/interruption"), None);
    assert_eq!(stopped["status"], "INTERRUPTED");
    host.until(&second, |it| it["status"] == "SKIPPED");
    let third = host.until(&third, |it| it["status"] == "DEPLOYED");
    assert_eq!(host.expect(200, "GET", &path, None)["active_revision_id"], third["id"]);
    assert_eq!(host.ask("POST", &format!("{first}/interruption"), None).status, 400);
    let list = |query: &str| host.expect(200, "GET", &format!("{path}/revisions{query}"), None);
    let statuses: Vec<Value> =
        list("")["resources"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!(statuses, ["DEPLOYED", "SKIPPED", "INTERRUPTED"]);
    let some = list("?status=SKIPPED,INTERRUPTED&limit=1&offset=1");
    assert_eq!((&some["resources"][0]["status"], &some["offset"]), (&json!("INTERRUPTED"), &json!(2)));
}

#[test]
fn a_failed_revision_says_why_and_can_be_deployed_again() {
    let host = Host::start(|knobs| knobs.runner.faults = vec![(1, Fault::Deploy("no room"))]);
    let id = created(&host, "app");
    let path = format!("/v2/deployments/{id}");
    let first = deployed(&host, &id, &image('1'));
    let failed = host.until(&first, |it| it["status"] == "DEPLOY_FAILED");
    assert_eq!(failed["reason"], "no room");
    let log = host.expect(200, "GET", &format!("{first}/logs?type=deploy&level=ERROR"), None);
    assert!(messages(&log).iter().all(|message| *message == "no room"), "{log}");
    let again = host.expect(200, "POST", &format!("{first}/redeploy"), None);
    let latest = format!("{path}/revisions/{}", again["latest_revision_id"].as_str().unwrap());
    let latest = host.until(&latest, |it| it["status"] == "DEPLOYED");
    assert_eq!(latest["source_revision_config"], json!({ "image_uri": image('1') }));
}

#[test]
fn limits_and_statuses_of_the_list() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}/revisions", created(&host, "app"));
    for (query, field, kind) in [
        ("limit=0", "limit", "greater_than_equal"),
        ("limit=101", "limit", "less_than_equal"),
        ("offset=-1", "offset", "greater_than_equal"),
        ("status=DEPLOYED,GONE", "status", "literal_error"),
    ] {
        let answer = host.expect(422, "GET", &format!("{path}?{query}"), None);
        assert_eq!(wrong(&answer), (vec!["query", field], kind), "{query}");
    }
    let none = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001";
    let missing = host.expect(404, "GET", &format!("{path}/{none}"), None);
    assert_eq!(missing["detail"], format!("Revision ID {none} not found."));
    let missing = host.expect(404, "GET", &format!("/v2/deployments/{none}/revisions"), None);
    assert_eq!(missing["detail"], format!("Deployment ID {none} not found."));
}
