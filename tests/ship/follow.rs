//! Revisions that do not come up.

use super::{Stage, deployments, events, named};
use crate::host::service::Host;
use crate::host::stand_in::Fault;

/// A service on which this happens to the first revision.
fn host(fault: Fault) -> Host {
    Host::start(|knobs| knobs.runner.faults = vec![(1, fault)])
}

#[test]
fn a_failure_says_why() {
    for (status, type_of_log, fault) in [
        ("BUILD_FAILED", " --type build", Fault::Build("out of memory")),
        ("DEPLOY_FAILED", "", Fault::Deploy("out of memory")),
    ] {
        let host = host(fault);
        let stage = Stage::new(&host.url());
        let output = stage.deploy("--name x --remote --json");
        assert_eq!(output.code, 1, "{}", output.err);
        let events = events(&output);
        let logged = named(&events, "log");
        assert_eq!(logged.last().unwrap()["message"], "out of memory", "{events:?}");
        let id = |field: &str| events.last().unwrap()[field].as_str().unwrap().to_owned();
        let log = format!(
            "`agentcli deploy logs --deployment-id {} --revision-id {}{type_of_log}` to see",
            id("deployment_id"),
            id("revision_id")
        );
        for told in [&format!("ended with status {status}: out of memory"), &log] {
            assert!(output.err.contains(told), "{told} in {}", output.err);
        }
        assert_eq!(id("status"), "failed");
        // The next one comes up, in the same deployment.
        assert_eq!(stage.events("--name x --remote").last().unwrap()["status"], "deployed");
        assert_eq!(deployments(&host).len(), 1);
    }
}

#[test]
fn what_takes_too_long_is_an_error() {
    let host = host(Fault::Stall);
    let output = Stage::new(&host.url()).deploy("--name x --remote --json --timeout 1");
    assert_eq!(output.code, 4, "{}", output.err);
    assert!(output.err.contains("is still BUILDING after 1 s"), "{}", output.err);
    assert_eq!(events(&output).last().unwrap()["status"], "pending");
}

#[test]
fn nobody_has_to_wait() {
    let host = host(Fault::Stall);
    let events = Stage::new(&host.url()).events("--name x --remote --no-wait");
    assert_eq!(events.last().unwrap()["status"], "submitted");
    assert!(named(&events, "status").is_empty());
}
