//! Child processes on Windows, which has neither process groups nor signals: only short-lived ones, without a guard.

use std::ffi::OsString;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use std::{io, process};

use tokio::process::Child;

use super::{Pipes, Signal};

/// A terminal that echoes nothing on other systems; here it still echoes.
pub struct Silence;

impl Silence {
    /// Returns nothing: this system is not supported.
    pub fn start() -> Option<Self> {
        None
    }
}

/// A child, without its own children. Dropping it kills it.
pub(super) struct Group(Child);

impl Group {
    /// Starts `command`, which inherits no sockets, and moves its pipes out.
    pub(super) fn spawn(command: process::Command, _: &[Arc<TcpListener>]) -> io::Result<(Self, Pipes)> {
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let pipes =
            Pipes { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        Ok((Self(child), pipes))
    }

    /// Kills the child, whatever the signal.
    pub(super) fn signal(&mut self, _: Signal) {
        self.0.start_kill().ok();
    }

    /// Waits for the end of the child; its exit code. Cancel safe.
    pub(super) async fn ended(&mut self) -> io::Result<Option<i32>> {
        Ok(self.0.wait().await?.code())
    }
}

/// Completes immediately: no child outlives its [`Group`].
pub(super) async fn all_ended() {}

/// Kills nothing: no child outlives its [`Group`].
pub fn kill_all() {}

/// No socket is inherited, and no child that would has a guard to start it.
pub fn descriptor(_: &TcpListener) -> i32 {
    -1
}

/// Spawns a process.
pub(super) fn spawning_alone<T>(spawn: impl FnOnce() -> T) -> T {
    spawn()
}

/// Fails: there are no guards.
pub(super) fn guard_command(_: Duration, _: bool) -> io::Result<process::Command> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails: there are no guards.
pub fn guard(_: &[OsString], _: Duration, _: bool) -> io::Result<u8> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Runs `command` to its end, since processes cannot be replaced; its exit code.
pub(super) fn replace(mut command: process::Command) -> io::Result<u8> {
    let code = command.status()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
