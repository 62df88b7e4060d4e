//! Deploys, pods and components of the cluster that are killed.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::stand_in::{SERVES, deploy, image, interrupt};
use super::{Place, answers, ctr, programs, succeeds, under_load};
use crate::harness::until;

#[test]
fn a_deploy_that_is_killed_ten_times_is_continued_by_the_next() {
    let place = Place::shop("kill");
    let image = image("kill-1:1", SERVES);
    let kill = |is_time: &dyn Fn() -> bool| {
        let mut child =
            place.command(&deploy(&image)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until(is_time, || "the deploy does not come so far".to_owned());
        child.kill().unwrap();
        child.wait().unwrap();
    };
    for kind in ["leases", "configmaps", "jobs", "deployments"] {
        kill(&|| !place.ours(kind).is_empty());
    }
    for tenths in [1, 3, 5, 8, 12, 20] {
        let start = Instant::now();
        kill(&|| start.elapsed() > Duration::from_millis(tenths * 100));
    }
    let text = place.succeeds(&deploy(&image));
    // The same revision goes on.
    assert!(text.contains("deployed shop") && text.contains("revision    1\n"), "{text}");
    assert_eq!(place.get(&["deployment", "shop"])["status"]["readyReplicas"], 1);
    assert_eq!(place.ours("leases"), Vec::<serde_json::Value>::new());
    place.is_as_applied();
}

#[test]
fn a_killed_server_and_a_killed_scheduler_come_back() {
    let place = Place::shop("crash");
    let [one, two] = ["crash-1", "crash-2"].map(|name| image(&format!("{name}:1"), SERVES));
    place.succeeds(&format!("{} --resource min_scale=2", deploy(&one)));
    let address = place.expose("shop");
    answers(&address, &one);
    let is_whole = || place.get(&["deployment", "shop"])["status"]["availableReplicas"] == 2;
    let (failures, seconds) = under_load(&address, 50, || {
        let pods = place.get(&["pods", "-l", "app.kubernetes.io/component=server"]);
        let id = pods["items"][0]["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
        let start = Instant::now();
        succeeds(ctr().args([
            "tasks",
            "kill",
            "--signal",
            "SIGKILL",
            id.trim_start_matches("containerd://"),
        ]));
        until(|| !is_whole(), || "the kubelet does not notice".to_owned());
        until(is_whole, || "the server does not come back".to_owned());
        let seconds = start.elapsed().as_secs_f64();
        thread::sleep(Duration::from_secs(1));
        seconds
    });
    eprintln!("a killed server is back after {seconds:.1} s; {} requests failed meanwhile", failures.len());
    // The other one serves: only requests that reach the killed one before the node knows fail.
    assert!(failures.len() < 25 * (seconds as usize + 1), "{} in {seconds} s", failures.len());
    answers(&address, &one);

    kill_scheduler();
    place.succeeds(&deploy(&two));
    answers(&address, &two);
}

/// Kills the scheduler of the test's cluster, which the node starts again.
fn kill_scheduler() {
    let name = programs().join("kube-scheduler");
    let is_scheduler = |process: &std::path::Path| {
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        let program = command.split(|byte| *byte == 0).next().unwrap_or_default();
        program == name.as_os_str().as_encoded_bytes() || program == b"kube-scheduler"
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let schedulers: Vec<_> = processes.filter(|process| is_scheduler(process)).collect();
    assert_eq!(schedulers.len(), 1, "{schedulers:?}");
    let id = schedulers[0].file_name().unwrap().to_str().unwrap();
    succeeds(std::process::Command::new("kill").args(["-KILL", id]));
}

#[test]
fn a_second_deploy_is_refused_while_one_runs() {
    let place = Place::shop("second");
    let [one, slow] = [image("second-1:1", SERVES), image("second-slow:1", "sleep 3600")];
    place.succeeds(&deploy(&one));
    let mut first = place.command(&deploy(&slow)).stderr(Stdio::null()).spawn().unwrap();
    until(|| !place.ours("leases").is_empty(), || "the first deploy takes no Lease".to_owned());
    place.fails("restart shop --yes", 4, "another deploy of `shop` runs");
    first.kill().unwrap();
    first.wait().unwrap();
    // What served still does, and the next deploy goes on.
    assert_eq!(place.get(&["deployment", "shop"])["status"]["availableReplicas"], 1);
    place.succeeds(&deploy(&one));
}

#[test]
fn an_interrupted_deploy_ends_at_once_and_what_served_still_does() {
    let place = Place::shop("interrupt");
    let [one, slow] = [image("interrupt-1:1", SERVES), image("interrupt-slow:1", "sleep 3600")];
    place.succeeds(&deploy(&one));
    let mut child = place.command(&deploy(&slow)).stderr(Stdio::null()).spawn().unwrap();
    let is_new = || place.get(&["pods", "-l", "agentcli/revision=2"])["items"][0].is_object();
    until(is_new, || "the deploy makes no pod".to_owned());
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.ours("leases"), Vec::<serde_json::Value>::new());
    assert_eq!(place.get(&["deployment", "shop"])["status"]["availableReplicas"], 1);
    place.succeeds(&deploy(&one));
}
