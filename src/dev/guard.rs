//! The guard: a process between this program and each of its children, which ends the child when this program ends,
//! whatever ended it.
//!
//! The guard leads a process group of its own, so that the terminal's Ctrl-C reaches only this program, which then
//! stops its children in order. Its standard input is a pipe from this program; nothing is ever written to it, so its
//! end is the sign that this program has let go of the child, or is no more. Then the whole group is asked to end,
//! and after a while made to.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// What a shell answers where a program is not there, and what it adds to the number of a signal.
const NOT_FOUND: u8 = 127;
const BY_SIGNAL: i32 = 128;

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
    // What the group is asked must not end the guard itself.
    let _kept = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let Some((program, arguments)) = command.split_first() else { return Ok(NOT_FOUND) };
    let mut child = match Command::new(program).args(arguments).stdin(Stdio::null()).spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(NOT_FOUND),
        child => child?,
    };
    tokio::select! {
        status = child.wait() => {
            let status = status?;
            // What the child has left behind.
            ask_group();
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
    ask_group();
    timeout(grace, child.wait()).await.ok();
    kill_group(getpgrp());
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
