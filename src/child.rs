//! Child processes, with their output as lines. Only here they are started: every one of them runs under a [`guard`], so
//! that none outlives this program, however it ends.

mod command;
pub mod guard;

use std::collections::VecDeque;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{self, ChildStdin};
use tokio::sync::mpsc;
use tokio::time::timeout;

use guard::kill_group;

pub use command::Command;

/// How many of its last lines are kept to tell why a child ended.
const KEPT_LINES: usize = 40;

/// Longer lines are cut, in bytes: a line is for reading.
const MAX_LINE: usize = 16 * 1024;

/// How many lines may wait to be shown before the child has to: as many as a server says while packages are installed
/// for the next one.
const WAITING_LINES: usize = 16 * 1024;

/// How much longer than its grace a guard may take, before it is itself made to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// The exit codes of a guard whose child was ended by a signal: 128 and its number.
const SIGNALS: RangeInclusive<i32> = 129..=192;

/// How often a child that was given up half-way is looked at until it has ended.
const GLANCE: Duration = Duration::from_millis(10);

/// How long output may still come from a child that has ended: what it started may hold its streams open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A running child.
pub struct Child {
    guard: process::Child,
    group: Option<Pid>,
    /// Held until the child shall end.
    leash: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    last: VecDeque<String>,
    grace: Duration,
}

/// What a child does next.
pub enum Next {
    /// It says something.
    Line(String),
    /// It has ended.
    Ended(Status),
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Child {
    /// Starts `command`; it gets `grace` to end once it is asked to.
    pub fn start(command: &Command, grace: Duration) -> io::Result<Self> {
        let mut guard = process::Command::new(own_program()?);
        guard.arg0("agentcli").arg("guard").arg("--grace").arg(grace.as_millis().to_string()).arg("--");
        guard.arg(&command.program).args(&command.arguments).current_dir(&command.directory);
        for name in &command.without {
            guard.env_remove(name);
        }
        guard.envs(command.variables.iter().map(|(name, value)| (name, value)));
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        guard.process_group(0).kill_on_drop(false);
        let mut guard = guard.spawn()?;
        let (sender, lines) = mpsc::channel(WAITING_LINES);
        guard.stdout.take().map(|stream| tokio::spawn(read_lines(stream, sender.clone())));
        guard.stderr.take().map(|stream| tokio::spawn(read_lines(stream, sender)));
        let group = guard.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leash = guard.stdin.take();
        Ok(Self { guard, group, leash, lines, last: VecDeque::new(), grace })
    }

    /// Waits for the next line, or for the end. Can be given up and called again.
    pub async fn next(&mut self) -> io::Result<Next> {
        tokio::select! {
            biased;
            Some(line) = self.lines.recv() => Ok(Next::Line(self.keep(line))),
            status = self.guard.wait() => {
                // What the child was about to say is in the pipe still.
                if let Ok(Some(line)) = timeout(LAST_WORDS, self.lines.recv()).await {
                    return Ok(Next::Line(self.keep(line)));
                }
                self.sweep();
                Ok(Next::Ended(Status::of(status?.code())))
            }
        }
    }

    /// Reads to the end, showing each line to `show`.
    pub async fn finish(&mut self, mut show: impl FnMut(&str)) -> io::Result<Status> {
        loop {
            match self.next().await? {
                Next::Line(line) => show(&line),
                Next::Ended(status) => return Ok(status),
            }
        }
    }

    /// The last lines that it said, oldest first.
    pub fn last_lines(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }

    /// Ends it in order, or else by force; answers when nothing of it is left. Lines that it still says are shown. Can
    /// be given up and called again.
    pub async fn stop(&mut self, mut show: impl FnMut(&str)) {
        self.leash = None;
        let patience = self.grace + PATIENCE;
        let ended = async {
            while let Ok(Next::Line(line)) = self.next().await {
                show(&line);
            }
        };
        timeout(patience, ended).await.ok();
        self.sweep();
        self.guard.wait().await.ok();
    }

    /// Asks it and what it started to end, as Ctrl-C in a terminal does.
    pub fn interrupt(&self) {
        self.group.iter().for_each(|group| _ = kill_process_group(*group, Signal::INT));
    }

    /// Ends it at once, with all its group.
    pub async fn kill(&mut self) {
        self.sweep();
        self.guard.wait().await.ok();
    }

    fn keep(&mut self, line: String) -> String {
        if self.last.len() == KEPT_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line.clone());
        line
    }

    fn sweep(&mut self) {
        self.group.take().into_iter().for_each(kill_group);
    }
}

impl Drop for Child {
    /// One that was given up half-way, as an installer is on Ctrl-C, is waited for: nothing may outlive this program.
    fn drop(&mut self) {
        self.leash = None;
        let began = Instant::now();
        let patience = self.grace + PATIENCE;
        while self.group.is_some() && began.elapsed() < patience && matches!(self.guard.try_wait(), Ok(None))
        {
            thread::sleep(GLANCE);
        }
        self.sweep();
    }
}

impl Status {
    /// What the guard's exit code says of its child.
    fn of(code: Option<i32>) -> Self {
        match code {
            Some(code) if SIGNALS.contains(&code) => Self::Signal(code - 128),
            Some(code) => Self::Code(code),
            None => Self::Signal(9),
        }
    }

    /// Whether it did what it should.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// This program, even where its file has been replaced meanwhile.
fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// Hands on each line, without its end; what is no UTF-8 is replaced.
async fn read_lines(stream: impl AsyncRead + Unpin, sender: mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = &text[..text.len().min(MAX_LINE)];
        if sender.send(String::from_utf8_lossy(text).into_owned()).await.is_err() {
            return;
        }
    }
}
