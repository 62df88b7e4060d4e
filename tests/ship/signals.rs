//! Signals, for each phase of `build`, `deploy` and `deploy logs --follow`: one, two and three of them.
//!
//! The measured table is appended to the file that AGENTCLI_SIGNAL_TABLE names.

#[cfg(feature = "system-tests")]
mod engine;

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Stage, deployments, revisions};
use crate::host::service::{Host, KEY};
use crate::proxy::{Fault, Proxy};
use crate::terminal::Terminal;

/// Timeout for a phase to be reached, and for a process to end at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Limits for the end of the process: after the first signal, and after the third.
const GRACEFUL: Duration = Duration::from_secs(10);
const AT_ONCE: Duration = Duration::from_secs(1);

/// Pause between two signals: two that arrive together count as one.
const PAUSE: Duration = Duration::from_millis(100);

/// A command that is running.
enum Running {
    Piped(Child),
    Terminal(Terminal),
}

impl Running {
    fn try_wait(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Piped(child) => child.try_wait().unwrap(),
            Self::Terminal(terminal) => terminal.child.try_wait().unwrap(),
        }
    }

    fn signal(&self) {
        let child = match self {
            Self::Piped(child) => child,
            Self::Terminal(terminal) => &terminal.child,
        };
        // It may have ended.
        kill_process(Pid::from_child(child), Signal::INT).ok();
    }

    /// What it printed on stderr.
    fn talk(&mut self) -> String {
        let mut talk = String::new();
        if let Self::Piped(child) = self {
            child.stderr.take().unwrap().read_to_string(&mut talk).unwrap();
        }
        talk
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Piped(child) = self {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn command(stage: &Stage, url: &str, engine: &str, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentcli"));
    command.args(arguments.split_whitespace()).current_dir(stage.env.path(""));
    command.env("AGENT_HOST_URL", url).env("AGENT_HOST_API_KEY", KEY).env("DOCKER_HOST", engine);
    command.env("XDG_CACHE_HOME", stage.env.path(".cache"));
    command
}

fn start(stage: &Stage, url: &str, engine: &str, arguments: &str) -> Running {
    let mut command = command(stage, url, engine, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Running::Piped(command.spawn().unwrap())
}

/// A command that is running, and whether it has reached the phase.
type Run<'a> = (Running, Box<dyn FnMut() -> bool + 'a>);

/// Starts a command, waits until it has reached the phase, sends 1, 2 and 3 signals, and checks how it ends. Returns what
/// each run printed.
fn assert_stops<'a>((name, phase): (&str, &str), mut start: impl FnMut() -> Run<'a>) -> Vec<String> {
    let mut talks = Vec::new();
    for signals in 1..=3 {
        let what = format!("{name}, {phase}, signals: {signals}");
        let (mut running, mut is_reached) = start();
        let started = Instant::now();
        while !is_reached() {
            if let Some(status) = running.try_wait() {
                panic!("{what}: it ends before: {status}: {}", running.talk());
            }
            assert!(started.elapsed() < PATIENCE, "{what}: it does not get there");
            thread::sleep(Duration::from_millis(5));
        }
        let first = Instant::now();
        running.signal();
        for _ in 1..signals {
            thread::sleep(PAUSE);
            running.signal();
        }
        let last = Instant::now();
        let status = loop {
            match running.try_wait() {
                Some(status) => break status,
                None => assert!(first.elapsed() < PATIENCE, "{what}: it does not end"),
            }
            thread::sleep(Duration::from_millis(1));
        };
        let (after_first, after_last) = (first.elapsed(), last.elapsed());
        let talk = running.talk();
        // The third signal ends the process as the system does.
        let is_interrupted = status.code() == Some(130) || (signals == 3 && status.signal() == Some(2));
        assert!(is_interrupted, "{what}: {status}: {talk}");
        assert!(after_first < GRACEFUL, "{what}: {after_first:?}: {talk}");
        assert!(signals < 3 || after_last < AT_ONCE, "{what}: {after_last:?}: {talk}");
        note(&format!("| {name} | {phase} | {signals} | {status} | {} ms |", after_first.as_millis()));
        talks.push(talk);
    }
    talks
}

/// Appends a row to the table.
fn note(row: &str) {
    let Some(path) = std::env::var_os("AGENTCLI_SIGNAL_TABLE") else { return };
    writeln!(OpenOptions::new().create(true).append(true).open(path).unwrap(), "{row}").unwrap();
}

/// Whether a proxy has got so many requests of this kind.
fn requests(
    proxy: Proxy,
    method: &'static str,
    path: &'static str,
    count: usize,
) -> Box<dyn FnMut() -> bool> {
    let is_meant = move |head: &&String| head.starts_with(method) && head.contains(path);
    Box::new(move || proxy.heads().iter().filter(is_meant).count() >= count)
}

/// An engine that is not there.
const NOWHERE: &str = "unix:///nowhere/engine.sock";

#[test]
fn signals_end_every_wait_for_a_service_that_hangs() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let deploy = "deploy --name x --remote --json";
    for (phase, method, path, hint) in [
        ("finding the deployment", "GET", "/v2/deployments?", ""),
        ("creating the deployment", "POST", "/v2/deployments", "`x` may have been created"),
        ("uploading", "PUT", "", ""),
        ("creating the revision", "PATCH", "", "a revision may have been created"),
        ("waiting for the revision", "GET", "/revisions/", "the revision continues"),
        ("following the build log", "POST", "/build_logs", "the revision continues"),
    ] {
        let talks = assert_stops(("deploy", phase), || {
            let proxy = Proxy::start(host.address());
            proxy.fail(method, path, Fault::Hang, usize::MAX);
            (start(&stage, &proxy.url(), NOWHERE, deploy), requests(proxy, method, path, 1))
        });
        assert!(talks[0].contains(hint), "{phase}: {}", talks[0]);
    }
    // A revision that was created stays.
    let [found] = &deployments(&host)[..] else { panic!("not one deployment") };
    let made = revisions(&host, found);
    assert_eq!(made.len(), 6, "{made:?}");
    assert!(made.iter().all(|it| it["status"] != "INTERRUPTED"), "{made:?}");
}

#[test]
fn signals_end_the_packing_of_a_large_tree() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    // Sparse: it takes long to pack, and no room.
    for index in 0..8 {
        let file = std::fs::File::create(stage.env.path(&format!("{index}.bin"))).unwrap();
        file.set_len(1 << 30).unwrap();
    }
    assert_stops(("deploy", "packing"), || {
        let proxy = Proxy::start(host.address());
        let running = start(&stage, &proxy.url(), NOWHERE, "deploy --name x --remote");
        (running, Box::new(move || proxy.forwarded("GET", "/v2/deployments?") > 0))
    });
    assert!(deployments(&host).is_empty());
}

#[test]
fn signals_end_a_question() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    assert_stops(("deploy", "asking"), || {
        let mut terminal = Terminal::start(command(&stage, &host.url(), NOWHERE, "deploy --name x --remote"));
        terminal.expect("Create it");
        (Running::Terminal(terminal), Box::new(|| true))
    });
    assert!(deployments(&host).is_empty());
}

#[test]
fn signals_end_following_a_log() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    stage.events("--name x --remote");
    assert_stops(("deploy logs", "following"), || {
        let proxy = Proxy::start(host.address());
        let running = start(&stage, &proxy.url(), NOWHERE, "deploy logs --name x --follow");
        (running, requests(proxy, "POST", "/deploy_logs", 2))
    });
    assert_stops(("deploy logs", "waiting for the service"), || {
        let proxy = Proxy::start(host.address());
        proxy.fail("POST", "/deploy_logs", Fault::Hang, usize::MAX);
        let running = start(&stage, &proxy.url(), NOWHERE, "deploy logs --name x");
        (running, requests(proxy, "POST", "/deploy_logs", 1))
    });
}

#[test]
fn an_interrupted_client_stays_interrupted() {
    use agentcli::api::wire::Redacted;
    use agentcli::api::{Account, RetryPolicy, Vocabulary};
    let account = Account {
        host: "http://127.0.0.1:1".to_owned(),
        key: Redacted::new(KEY),
        tenant: None,
        vocabulary: Vocabulary::Specification,
    };
    let stop = agentcli::live::Stop::default();
    stop.raise();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut service = agentcli::ship::Service::new(account, RetryPolicy::default(), stop).unwrap();
    for _ in 0..2 {
        let called = runtime.block_on(service.call(async |client| client.push_token("x").await, drop));
        assert!(matches!(called, Err(agentcli::ship::Error::Interrupted(_))));
    }
}
