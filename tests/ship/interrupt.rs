//! Ctrl-C, at any moment.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::image::Image;
use super::registry::with_registry;
use super::{Stage, deployments, revisions};
use crate::engine::{docker, hosts};
use crate::host::service::{Host, KEY};
use crate::proxy::{Fault, Proxy};
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentcli"));
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
        assert!(!is_patched || !err.contains("nothing is done twice"), "after {after:?}: {err}");
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
    let host = Host::start(|options| options.pace = Duration::from_millis(60));
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

/// A relay to an engine that hangs from the first request whose path contains `path`. Returns its address, and its
/// directory.
fn hanging(engine: &str, path: &'static str) -> (String, tempfile::TempDir) {
    let upstream = engine.strip_prefix("unix://").unwrap().to_owned();
    let directory = tempfile::TempDir::new().unwrap();
    let socket = directory.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let hangs = Arc::new(AtomicBool::new(false));
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let (hangs, upstream) = (hangs.clone(), upstream.clone());
            thread::spawn(move || -> io::Result<()> {
                let mut head = [0; 4096];
                let read = client.read(&mut head)?;
                if String::from_utf8_lossy(&head[..read]).contains(path) {
                    hangs.store(true, Ordering::Relaxed);
                }
                if hangs.load(Ordering::Relaxed) {
                    return io::copy(&mut client, &mut io::sink()).map(drop);
                }
                let mut server = UnixStream::connect(upstream)?;
                server.write_all(&head[..read])?;
                let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
                thread::spawn(move || io::copy(&mut from_client, &mut to_server));
                io::copy(&mut server, &mut client).map(drop)
            });
        }
    });
    (format!("unix://{}", socket.display()), directory)
}

/// Interrupts a run that hangs, after it was given the time to get there: it ends with 130 in due time.
fn assert_stops(phase: &str, stage: &Stage, url: &str, engine: Option<&str>, arguments: &str) {
    let mut child = begun(stage, url, engine, &format!("--name x {arguments}"));
    thread::sleep(Duration::from_secs(4));
    assert!(child.try_wait().unwrap().is_none(), "{phase}: it does not hang");
    interrupt(&child);
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{phase}: it does not end");
            }
        }
    };
    let took = start.elapsed();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(130), "{phase}: {err}");
    assert!(took < Duration::from_secs(10), "{phase}: {took:?}: {err}");
}

#[test]
fn one_signal_stops_every_wait_for_the_service() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    for (phase, method, path) in [
        ("finding the deployment", "GET", "/v2/deployments?"),
        ("creating the deployment", "POST", "/v2/deployments"),
        ("uploading", "PUT", ""),
        ("creating the revision", "PATCH", ""),
        ("waiting for the revision", "GET", "/revisions/"),
    ] {
        let proxy = Proxy::start(host.address());
        proxy.fail(method, path, Fault::Hang, usize::MAX);
        assert_stops(phase, &stage, &proxy.url(), None, "--remote");
    }
}

#[test]
fn one_signal_stops_every_wait_for_the_engine() {
    let engine = hosts().remove(0);
    let registry = Registry::start();
    let host = with_registry(&registry, PASSWORD);
    let stage = Stage::new(&host.url());
    let image = Image::make(&engine);
    for (phase, path, arguments) in [
        ("connecting to the engine", "/", "--no-remote".to_owned()),
        ("building", "/build", "--no-remote".to_owned()),
        ("pushing", "/push", format!("--image {}", image.name)),
    ] {
        let (hanging, _directory) = hanging(&engine, path);
        assert_stops(phase, &stage, &host.url(), Some(&hanging), &arguments);
    }
}

#[test]
fn a_service_stays_stopped() {
    use agentcli::api::wire::Redacted;
    use agentcli::api::{Account, Patience, Vocabulary};
    let account = Account {
        host: "http://127.0.0.1:1".to_owned(),
        key: Redacted::new(KEY),
        tenant: None,
        vocabulary: Vocabulary::Specification,
    };
    let stop = agentcli::live::Stop::default();
    stop.raise();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut service = agentcli::ship::Service::new(account, Patience::default(), stop).unwrap();
    for _ in 0..2 {
        let called = runtime.block_on(service.call(async |client| client.push_token("x").await, drop));
        assert!(matches!(called, Err(agentcli::ship::Error::Interrupted(_))));
    }
}
