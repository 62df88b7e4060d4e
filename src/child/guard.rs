//! The guard: a process between this program and each of its children, which ends the child when this program ends,
//! whatever ended it.
//!
//! The guard leads a process group of its own, so that the terminal's Ctrl-C reaches only this program, which then
//! stops its children in order. Its standard input is a pipe from this program; nothing is ever written to it, so its
//! end is the sign that this program has let go of the child, or is no more. Then the child is asked to end, and after
//! a while made to, with all its group. What left the group, as daemons do, falls to the guard (on Linux) and ends, too.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpgrp, kill_process, kill_process_group, waitpid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Exit codes of a shell: for a program that cannot be run, for one that does not exist, and the base for signals.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
const BY_SIGNAL: i32 = 128;

/// How often descendants are looked for: each time those whose parents ended are new.
const MOST_GENERATIONS: usize = 16;

/// Runs `command`, a program and its arguments, until it ends or standard input does; the answer is its exit code,
/// or 128 and the number of the signal that ended it.
///
/// # Errors
///
/// The system refuses to start anything.
pub fn run(command: &[OsString], grace: Duration) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(guard(command, grace))
}

async fn guard(command: &[OsString], grace: Duration) -> io::Result<u8> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
    // What the group is asked must not end the guard itself.
    let _kept = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let Some((program, arguments)) = command.split_first() else { return Ok(NOT_FOUND) };
    let mut child = match Command::new(program).args(arguments).stdin(Stdio::null()).spawn() {
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
        () = end_of_input() => {
            stop(&mut child, grace).await;
            Ok(0)
        }
    }
}

async fn end_of_input() {
    let (sender, ended) = oneshot::channel();
    // A thread of its own, for nothing can interrupt a read: it must not keep the guard from ending.
    thread::spawn(move || {
        io::copy(&mut io::stdin(), &mut io::sink()).ok();
        sender.send(()).ok();
    });
    ended.await.ok();
}

/// Ends the whole group, and the guard with it.
async fn stop(child: &mut Child, grace: Duration) {
    // The child alone: what it started is its own to end, and it would take a sudden end for a failure.
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        kill_process(id, Signal::TERM).ok();
    }
    if timeout(grace, child.wait()).await.is_err() {
        child.kill().await.ok();
    }
    ask_group();
    end_adopted();
    kill_group(getpgrp());
}

/// Ends what the child has left behind: all its descendants are children of the guard by now, or become it when their
/// parents end.
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

/// The guard's children, where the system tells.
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

/// Ends every process of a group at once; there may be none.
pub(super) fn kill_group(group: Pid) {
    kill_process_group(group, Signal::KILL).ok();
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
