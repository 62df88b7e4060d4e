//! The guard: a process between this program and each of its children, which stops the child when this program exits, for
//! whatever reason.
//!
//! The guard leads a process group, so that Ctrl-C in the terminal reaches only this program, which then stops its
//! children in order. Its stdin is a pipe from this program: when it ends, this program has released the child or has
//! exited. What is written to it is passed on to a child that takes input. Then the guard sends SIGTERM to the child and,
//! after the grace period, kills the whole group. On Linux, processes that left the group, such as daemons, become children
//! of the guard and are killed, too.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, PipeWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpgrp, kill_process, kill_process_group, waitpid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Exit codes as in a shell: program not executable, program not found, and the base for signals.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
const BY_SIGNAL: i32 = 128;

/// Number of times that adopted processes are killed: each time, their children are adopted.
const MOST_GENERATIONS: usize = 16;

/// Runs `command`, a program and its arguments, until it exits or stdin ends. Passes stdin on if `passes_input`. Returns
/// its exit code, or 128 plus the number of the signal that killed it.
///
/// # Errors
///
/// No thread or process can be started.
pub fn run(command: &[OsString], grace: Duration, passes_input: bool) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(guard(command, grace, passes_input))
}

async fn guard(command: &[OsString], grace: Duration, passes_input: bool) -> io::Result<u8> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
    // Signals to the group must not end the guard itself.
    let _kept = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let Some((program, arguments)) = command.split_first() else { return Ok(NOT_FOUND) };
    // Before the child is started: it must not run without this.
    let (input, input_ended) = if passes_input {
        let (reader, writer) = io::pipe()?;
        (Stdio::from(reader), end_of_input(Some(writer))?)
    } else {
        (Stdio::null(), end_of_input(None)?)
    };
    let mut child = match Command::new(program).args(arguments).stdin(input).spawn() {
        Ok(child) => child,
        Err(error) => {
            let (code, reason) = match error.kind() {
                ErrorKind::NotFound => (NOT_FOUND, "no such program".to_owned()),
                _ => (NOT_EXECUTABLE, error.to_string()),
            };
            writeln!(io::stderr(), "cannot run `{}`: {reason}", program.display()).ok();
            return Ok(code);
        }
    };
    tokio::select! {
        status = child.wait() => {
            let status = status?;
            ask_group();
            end_adopted();
            Ok(code(status))
        }
        () = input_ended => {
            stop(&mut child, grace).await;
            Ok(0)
        }
    }
}

/// Completes at the end of stdin, and until then copies it to the child's. A thread does this, because a read cannot be
/// cancelled.
fn end_of_input(child: Option<PipeWriter>) -> io::Result<impl Future<Output = ()> + use<>> {
    let (sender, ended) = oneshot::channel();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        if let Some(mut child) = child {
            // Ends early if the child closes its stdin.
            io::copy(&mut io::stdin(), &mut child).ok();
        }
        io::copy(&mut io::stdin(), &mut io::sink()).ok();
        sender.send(()).ok();
    })?;
    Ok(async { _ = ended.await })
}

/// Stops the whole group, including the guard.
async fn stop(child: &mut Child, grace: Duration) {
    // Only the child: it stops its own children, and would report them as failed otherwise.
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        kill_process(id, Signal::TERM).ok();
    }
    if timeout(grace, child.wait()).await.is_err() {
        child.kill().await.ok();
    }
    ask_group();
    end_adopted();
    kill_process_group(getpgrp(), Signal::KILL).ok();
}

/// Kills the processes that the child has left behind: its descendants are children of the guard, or become so when their
/// parents exit.
fn end_adopted() {
    for _ in 0..MOST_GENERATIONS {
        let adopted = children();
        if adopted.is_empty() {
            return;
        }
        for id in adopted {
            kill_process(id, Signal::KILL).ok();
            waitpid(Some(id), WaitOptions::empty()).ok();
        }
    }
}

/// The guard's children, if the system tells.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let ids =
        lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>());
    ids.filter_map(Pid::from_raw).collect()
}

fn ask_group() {
    kill_process_group(getpgrp(), Signal::TERM).ok();
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
