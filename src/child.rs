//! Child processes. All are started here. A [`Child`] runs under a [`guard()`], so that it does not outlive this program,
//! however that ends; [`output`] runs short-lived programs; the browser is left to the user.

mod command;
mod output;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::collections::VecDeque;
use std::env::consts::EXE_EXTENSION;
use std::io;
use std::ops::RangeInclusive;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep_until, timeout};

use crate::live::{self, Lines, Reporter, read_lines};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use system::Group;

pub use command::Command;
pub use output::{output, output_and_errors};
pub use system::{Silence, descriptor, guard, kill_all};

/// Replaces this process with `command`: a program beside this one, or else on the PATH. Where processes cannot be replaced,
/// runs it to its end, and returns its exit code.
///
/// # Errors
///
/// The program does not exist or cannot be started.
pub fn replace(mut command: Command) -> io::Result<u8> {
    let own = std::env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name(&command.program).with_extension(EXE_EXTENSION));
    if let Some(beside) = beside.filter(|beside| beside.is_file()) {
        command.program = beside;
    }
    let mut process = std::process::Command::new(&command.program);
    command.configure(&mut process);
    system::replace(process)
}

/// Number of last lines kept to explain why a child exited.
const KEPT_LINES: usize = 40;

/// Time that a guard gets on top of its grace period before it is killed.
const EXTRA_GRACE: Duration = Duration::from_secs(2);

/// Time after which a note says that a child has not exited yet.
const SLOW: Duration = Duration::from_secs(1);

/// Exit codes of a guard whose child was killed by a signal: 128 plus the signal number.
const SIGNALS: RangeInclusive<i32> = 129..=192;

/// Time for which output of an exited child is still awaited: its own children may keep the pipes open.
const LAST_OUTPUT: Duration = Duration::from_millis(300);

/// A running child. Dropping it stops it in the background; [`all_ended`] waits for that.
pub struct Child {
    group: Group,
    /// Open while the child should run. Its input, if it takes any.
    leash: Option<ChildStdin>,
    lines: Lines<()>,
    last: VecDeque<String>,
    grace: Duration,
}

/// The ends of a child's pipes.
struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// A request to a process group.
#[derive(Clone, Copy)]
enum Signal {
    Interrupt,
    Kill,
}

/// What a child does next.
pub enum Next {
    /// It printed lines.
    Lines(Vec<String>),
    /// It exited.
    Ended(Status),
}

/// How a child exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With an exit code.
    Code(i32),
    /// Killed by a signal.
    Signal(i32),
}

impl Child {
    /// Starts `command`; when stopped, it has `grace` to exit before it is killed.
    pub fn start(command: &Command, grace: Duration) -> io::Result<Self> {
        let mut guard = system::guard_command(grace, command.takes_input)?;
        command.configure(guard.arg(&command.program));
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (group, pipes) = Group::spawn(guard, &command.sockets)?;
        let (sender, lines) = live::lines();
        if let Some(stream) = pipes.stdout {
            tokio::spawn(read_lines(stream, (), sender.clone()));
        }
        if let Some(stream) = pipes.stderr {
            tokio::spawn(read_lines(stream, (), sender));
        }
        Ok(Self { group, leash: pipes.stdin, lines, last: VecDeque::new(), grace })
    }

    /// Writes to the stdin of a child that takes input.
    ///
    /// # Errors
    ///
    /// It has ended or is being stopped.
    pub async fn send(&mut self, text: &str) -> io::Result<()> {
        let input = self.leash.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(text.as_bytes()).await?;
        input.flush().await
    }

    /// Waits for lines or for the end. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Next> {
        tokio::select! {
            biased;
            Some(lines) = self.lines.next() => Ok(Next::Lines(self.keep(lines))),
            status = self.group.ended() => {
                // The last lines may still be in the pipe.
                if let Ok(Some(lines)) = timeout(LAST_OUTPUT, self.lines.next()).await {
                    return Ok(Next::Lines(self.keep(lines)));
                }
                Ok(Next::Ended(Status::of(status?)))
            }
        }
    }

    /// Reads to the end; `show` gets the lines.
    pub async fn finish(&mut self, mut show: impl FnMut(Vec<String>)) -> io::Result<Status> {
        loop {
            match self.next().await? {
                Next::Lines(lines) => show(lines),
                Next::Ended(status) => return Ok(status),
            }
        }
    }

    /// The last lines that it printed, oldest first.
    pub fn last_lines(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }

    /// Asks it to exit, kills it after its grace period, and returns when its whole process group is gone. Reports the lines
    /// that it prints meanwhile, and a note about `name` if that takes long. Cancel safe.
    pub async fn stop(&mut self, name: &str, reporter: &mut dyn Reporter) {
        self.leash = None;
        let asked = Instant::now();
        let deadline = asked + self.grace + EXTRA_GRACE;
        let mut is_noted = false;
        loop {
            tokio::select! {
                next = self.next() => match next {
                    Ok(Next::Lines(lines)) => reporter.lines(lines),
                    _ => return,
                },
                () = sleep_until(asked + SLOW), if !is_noted => {
                    is_noted = true;
                    reporter.note(waiting_for(name));
                }
                () = sleep_until(deadline) => return self.kill().await,
            }
        }
    }

    /// Sends SIGINT to its process group, as Ctrl-C in a terminal does.
    pub fn interrupt(&mut self) {
        self.group.signal(Signal::Interrupt);
    }

    /// Kills its process group.
    pub async fn kill(&mut self) {
        self.group.signal(Signal::Kill);
        self.group.ended().await.ok();
    }

    fn keep(&mut self, lines: Vec<((), String)>) -> Vec<String> {
        let lines: Vec<String> = lines.into_iter().map(|((), line)| line).collect();
        self.last.extend(lines.iter().cloned());
        self.last.drain(..self.last.len().saturating_sub(KEPT_LINES));
        lines
    }
}

impl Status {
    /// The status of the child, from its guard's exit code.
    fn of(code: Option<i32>) -> Self {
        match code {
            Some(code) if SIGNALS.contains(&code) => Self::Signal(code - 128),
            Some(code) => Self::Code(code),
            None => Self::Signal(9),
        }
    }

    /// Whether the exit code is 0.
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

/// Waits until no child is left, including those that were dropped. Reports a note if that takes long.
pub async fn all_ended(reporter: &mut dyn Reporter) {
    if timeout(SLOW, system::all_ended()).await.is_err() {
        reporter.note(waiting_for("child processes"));
        system::all_ended().await;
    }
}

fn waiting_for(name: &str) -> String {
    format!("waiting for {name} to exit; press Ctrl-C again to kill it")
}

/// Opens `url` in the browser. The browser belongs to the user and outlives this program.
///
/// # Errors
///
/// No browser is found.
pub fn open_browser(url: &str) -> io::Result<()> {
    system::spawning_alone(|| open::that_detached(url))
}
