//! One, two and three signals, for each phase of the commands that take long.
//!
//! The measured table is appended to the file that AGENTCLI_SIGNAL_TABLE names.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{NamedTempFile, TempDir};

use crate::harness::PATIENCE;
use crate::terminal::Terminal;

/// Limits for the end of the process: after the first signal, and after the third.
const GRACEFUL: Duration = Duration::from_secs(10);
const AT_ONCE: Duration = Duration::from_secs(1);

/// Pause between two signals: two that arrive together count as one.
const PAUSE: Duration = Duration::from_millis(300);

/// A command that is running.
pub(crate) struct Running {
    process: Process,
    /// Dropped with it.
    _engine: Option<HangingEngine>,
}

enum Process {
    /// With a file for stdout and stderr, which has all output as soon as the process has ended; a pipe has to be read.
    Redirected(Child, NamedTempFile),
    Terminal(Terminal),
}

impl Running {
    /// Starts `command` without a terminal.
    pub(crate) fn start(mut command: Command) -> Self {
        let output = NamedTempFile::new().unwrap();
        let stream = || output.as_file().try_clone().unwrap();
        let child = command.stdin(Stdio::null()).stdout(stream()).stderr(stream()).spawn().unwrap();
        Self { process: Process::Redirected(child, output), _engine: None }
    }

    /// Starts `command` on a terminal.
    pub(crate) fn on_terminal(command: Command) -> Self {
        Self { process: Process::Terminal(Terminal::start(command)), _engine: None }
    }

    /// Keeps `engine` while it is running.
    pub(crate) fn with(mut self, engine: HangingEngine) -> Self {
        self._engine = Some(engine);
        self
    }

    /// Waits until `is_reached`.
    pub(crate) fn wait_for(mut self, what: &str, mut is_reached: impl FnMut() -> bool) -> Self {
        let started = Instant::now();
        while !is_reached() {
            if let Some(status) = self.try_wait() {
                panic!("{status} before {what}: {}", self.printed());
            }
            assert!(started.elapsed() < PATIENCE, "{what} is not reached: {}", self.printed());
            thread::sleep(Duration::from_millis(5));
        }
        self
    }

    /// Waits until it has printed `text`.
    pub(crate) fn until(mut self, text: &str) -> Self {
        let path = match &mut self.process {
            Process::Redirected(_, output) => output.path().to_owned(),
            Process::Terminal(terminal) => {
                terminal.expect(text);
                return self;
            }
        };
        self.wait_for(text, || read(&path).contains(text))
    }

    fn child(&mut self) -> &mut Child {
        match &mut self.process {
            Process::Redirected(child, _) => child,
            Process::Terminal(terminal) => &mut terminal.child,
        }
    }

    fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child().try_wait().unwrap()
    }

    fn signal(&mut self) {
        let id = self.child().id().to_string();
        Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status().unwrap();
    }

    fn printed(&self) -> String {
        match &self.process {
            Process::Redirected(_, output) => read(output.path()),
            Process::Terminal(terminal) => terminal.printed.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child().kill().ok();
        self.child().wait().ok();
    }
}

/// The output so far; its end may be a part of a character.
fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

/// Runs a command to a phase, sends 1, 2 and 3 signals, and checks that it ends in time with `code`, or by the third
/// signal itself. `start` returns it when it has reached the phase; `check` is called when it has ended.
pub(crate) fn assert_stops(
    (command, phase, code): (&str, &str, i32),
    mut start: impl FnMut() -> Running,
    mut check: impl FnMut(&str),
) {
    for signals in 1..=3 {
        let mut running = start();
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
                None => assert!(first.elapsed() < PATIENCE, "{command}, {phase}: {}", running.printed()),
            }
            thread::sleep(Duration::from_millis(1));
        };
        let (after_first, after_last) = (first.elapsed(), last.elapsed());
        let what = format!("{command}, {phase}, signals: {signals}: {status}: {}", running.printed());
        // The third signal ends the process as the system does.
        let is_ended_by_signal = signals == 3 && status.signal() == Some(2);
        assert!(status.code() == Some(code) || is_ended_by_signal, "{what}");
        assert!(after_first < GRACEFUL, "{after_first:?}: {what}");
        assert!(signals < 3 || after_last < AT_ONCE, "{after_last:?}: {what}");
        note(&format!("| {command} | {phase} | {signals} | {status} | {} ms |", after_first.as_millis()));
        drop(running);
        check(&what);
    }
}

/// Appends a row to the table.
fn note(row: &str) {
    let Some(path) = std::env::var_os("AGENTCLI_SIGNAL_TABLE") else { return };
    writeln!(OpenOptions::new().create(true).append(true).open(path).unwrap(), "{row}").unwrap();
}

/// A relay to an engine that hangs from the first request whose head contains a text, or on request.
pub(crate) struct HangingEngine {
    /// Its address.
    pub(crate) host: String,
    hangs: Arc<AtomicBool>,
    _directory: TempDir,
}

impl HangingEngine {
    /// Starts a relay to `engine`.
    pub(crate) fn start(engine: &str, request: &'static str) -> Self {
        let directory = TempDir::new().unwrap();
        let socket = directory.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let upstream = engine.trim_start_matches("unix://").to_owned();
        let hangs = Arc::new(AtomicBool::new(false));
        let flag = hangs.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&upstream) else { continue };
                let answers = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (requests_hang, answers_hang) = (flag.clone(), flag.clone());
                thread::spawn(move || {
                    relay(client, server, |bytes| {
                        let text = String::from_utf8_lossy(bytes);
                        if !request.is_empty() && text.lines().next().is_some_and(|it| it.contains(request)) {
                            requests_hang.store(true, Ordering::Relaxed);
                        }
                        requests_hang.load(Ordering::Relaxed)
                    })
                });
                thread::spawn(move || relay(answers.0, answers.1, |_| answers_hang.load(Ordering::Relaxed)));
            }
        });
        Self { host: format!("unix://{}", socket.display()), hangs, _directory: directory }
    }

    /// Hangs from now on.
    pub(crate) fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    /// Whether it hangs.
    pub(crate) fn hangs(&self) -> bool {
        self.hangs.load(Ordering::Relaxed)
    }
}

/// Copies bytes, and drops them while `hangs`.
fn relay(mut from: UnixStream, mut to: UnixStream, mut hangs: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut bytes = [0; 16384];
    loop {
        let length = from.read(&mut bytes)?;
        if length == 0 {
            return to.shutdown(std::net::Shutdown::Write);
        }
        if !hangs(&bytes[..length]) {
            to.write_all(&bytes[..length])?;
        }
    }
}
