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
    for (ended, type_of_log, fault) in [
        ("ended with status BUILD_FAILED", " --type build", Fault::Build("out of memory")),
        ("did not start", "", Fault::Deploy("out of memory")),
    ] {
        let host = host(fault);
        let stage = Stage::new(&host.url());
        let output = stage.deploy("--name x --remote --json");
        assert_eq!(output.code, 1, "{}", output.err);
        let events = events(&output);
        let id = |field: &str| events.last().unwrap()[field].as_str().unwrap().to_owned();
        let told = format!(
            "error: revision 1 of `x` {ended}: out of memory\nhint: run `agentcli deploy logs {} --revision-id {}{type_of_log}` \
             to see the whole log of the",
            id("deployment_id"),
            id("revision_id")
        );
        assert!(output.err.contains(&told), "{told} in {}", output.err);
        assert_eq!(id("status"), "failed");
        let logged = named(&events, "log");
        match type_of_log {
            "" => assert!(logged.iter().all(|entry| entry["message"] != "out of memory"), "{events:?}"),
            _ => assert_eq!(logged.last().unwrap()["message"], "out of memory", "{events:?}"),
        }
        // The next one comes up, in the same deployment.
        assert_eq!(stage.events("--name x --remote").last().unwrap()["status"], "deployed");
        assert_eq!(deployments(&host).len(), 1);
    }
}

#[test]
fn a_failure_is_told_in_three_lines_with_the_revision_that_still_serves() {
    let crash = Fault::Crash(&["  File \"/deps/app/agent.py\", line 3, in <module>", "KeyError: 'A'"]);
    let host = Host::start(|knobs| knobs.runner.faults = vec![(2, crash.clone()), (3, crash)]);
    let stage = Stage::new(&host.url());
    assert_eq!(stage.deploy("--name x --remote").code, 0);
    let deployment = deployments(&host).remove(0);
    let url = deployment["source_config"]["custom_url"].as_str().unwrap();
    let cause = "did not start: the server exited with code 3: agent.py:3: KeyError: 'A'";
    let output = stage.deploy("--name x --remote");
    assert_eq!(output.code, 1, "{}", output.err);
    let told: Vec<&str> = output.err.lines().collect();
    let [.., status, note, error, hint] = &told[..] else { panic!("{}", output.err) };
    assert!(status.contains("DEPLOY_FAILED after "), "{}", output.err);
    assert_eq!(*note, format!("note: revision 1 still serves at {url}"));
    assert_eq!(*error, format!("error: revision 2 of `x` {cause}"));
    assert!(hint.starts_with("hint: run `agentcli deploy logs "), "{hint}");

    // So do the commands that wait for a revision.
    let output = stage.deploy("restart x --yes");
    assert_eq!(output.code, 1, "{}", output.err);
    let told = format!("note: revision 1 still serves at {url}\nerror: revision 3 of `x` {cause}\nhint: ");
    assert!(output.err.starts_with(&told), "{}", output.err);
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
