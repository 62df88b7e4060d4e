//! Runs that are interrupted at any moment, and what the next run makes of what they left.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::image::Image;
use super::registry::with_registry;
use super::{Stage, deployments, revisions};
use crate::engine::{docker, hosts};
use crate::host::service::{Host, KEY};
use crate::registry::{PASSWORD, Registry};

/// How long a run may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a run that was interrupted has ended.
struct Ended {
    /// It was done before.
    is_done: bool,
    /// What it said.
    err: String,
}

/// Begins a run as a process of its own.
fn begun(stage: &Stage, url: &str, engine: Option<&str>, arguments: &str) -> Child {
    let mut command = Command::new(crate::harness::program());
    command.arg("deploy").args(arguments.split_whitespace()).current_dir(stage.env.path(""));
    command
        .env("AGENT_HOST_URL", url)
        .env("AGENT_HOST_API_KEY", KEY)
        .env("DOCKER_HOST", engine.unwrap_or("unix:///nowhere"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status().unwrap();
}

/// Interrupts a run after so long.
fn interrupted(stage: &Stage, url: &str, engine: Option<&str>, arguments: &str, after: Duration) -> Ended {
    let mut child = begun(stage, url, engine, &format!("--name x {arguments}"));
    thread::sleep(after);
    interrupt(&child);
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            // Before it listens for signals, the system ends it.
            let is_interrupted = status.code() == Some(130) || status.signal() == Some(2);
            assert!(is_interrupted || status.success(), "after {after:?}: {status}");
            let mut err = String::new();
            child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            return Ended { is_done: status.success(), err };
        }
        assert!(start.elapsed() < PATIENCE, "after {after:?} it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Interrupts runs at moments all over a run, and lets the next run complete what each has left.
fn assert_resumes(host: &Host, stage: &Stage, engine: Option<&str>, arguments: &str) {
    let output = stage.deploy(&format!("--name x {arguments}"));
    assert_eq!(output.code, 0, "{}", output.err);
    let id = |host: &Host| deployments(host)[0]["id"].as_str().unwrap().to_owned();
    let mut left = 0;
    for round in 0..16 {
        // Each begins with nothing.
        host.expect(204, "DELETE", &format!("/v2/deployments/{}", id(host)), None);
        host.until("/v2/deployments", |page| page["resources"].as_array().unwrap().is_empty());
        let after = Duration::from_millis(5 + round * round * 4);
        let Ended { is_done, err } = interrupted(stage, &host.url(), engine, arguments, after);
        left += usize::from(!is_done);
        let is_told = err.contains("revision: ");
        let is_patched = deployments(host).first().is_some_and(|found| !revisions(host, found).is_empty());
        if is_told && !is_done {
            let see = format!("the revision continues; see `agentcli deploy revisions list {}`", id(host));
            assert!(err.contains(&see), "after {after:?}: {err}");
        }
        assert!(is_patched || !is_told, "after {after:?}: {err}");
        let output = stage.deploy(&format!("--name x {arguments}"));
        assert_eq!(output.code, 0, "after {after:?}: {}", output.err);
        let [found] = &deployments(host)[..] else { panic!("after {after:?}: not one deployment") };
        let made = revisions(host, found);
        assert_eq!(made[0]["status"], "DEPLOYED", "after {after:?}");
        // The one that was on its way, where there was one, and that of the second run.
        assert_eq!(made.len(), 1 + usize::from(is_patched), "after {after:?}: {err}");
    }
    assert!(left > 3, "hardly a run was interrupted");
}

#[test]
fn what_is_sent_is_taken_up_again() {
    let host = Host::start(|options| options.runner.pace = Duration::from_millis(60));
    let stage = Stage::new(&host.url());
    assert_resumes(&host, &stage, None, "--remote");
}

#[test]
fn what_is_pushed_is_taken_up_again() {
    let engine = hosts().remove(0);
    let registry = Registry::start();
    let host = with_registry(&registry, PASSWORD);
    let image = Image::make(&engine);
    let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", &engine));
    assert_resumes(&host, &stage, Some(&engine), &format!("--image {}", image.name));
    let left = docker(&engine, &["images", "-q", &format!("{}/*/*", registry.address)]);
    assert_eq!(left, "", "names that were needed for a push are left");
}

/// Interrupts runs that build, which there is a step for that says when it runs: as the build begins, and in the midst of
/// that step. Neither leaves anything at the service.
pub(super) fn assert_builds_can_be_interrupted(host: &Host, stage: &Stage, engine: &str, arguments: &str) {
    for moment in ["context: ", RUNS] {
        let mut child = begun(stage, &host.url(), Some(engine), &format!("{arguments} -v"));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|line| line.contains(moment)) {
            said.push(lines.next().unwrap_or_else(|| panic!("no `{moment}` in {said:#?}")));
        }
        interrupt(&child);
        let start = Instant::now();
        // Read to the end, or it would wait for that.
        said.extend(lines);
        let status = child.wait().unwrap();
        assert!(start.elapsed() < PATIENCE, "{moment}: it does not end");
        assert_eq!(status.code(), Some(130), "{moment}: {said:#?}");
        assert_eq!(deployments(host).len(), 0, "{moment}: {said:#?}");
    }
}

/// What a step says when it runs.
const RUNS: &str = "-is running";

/// A step that takes a while, and that no image has as yet.
pub(super) fn slow_step() -> String {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    // In two parts, so that to show the step is not to show what it says.
    format!("RUN echo step-{nanos}-'is running' && sleep 10")
}
