//! Child processes on Unix: each leads a process group, and long-running ones have a guard.

mod groups;
mod guard;
mod silence;
mod sockets;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io, process};

pub use groups::kill_all;
pub(super) use groups::{Group, all_ended};
pub use guard::run as guard;
pub use silence::Silence;
pub use sockets::descriptor;
pub(super) use sockets::spawning_alone;

/// The command of a guard, to which the command of its child is added.
pub(super) fn guard_command(grace: Duration, passes_input: bool) -> io::Result<process::Command> {
    let mut guard = process::Command::new(own_program()?);
    guard.arg0("agentcli").arg("guard").arg("--grace").arg(grace.as_millis().to_string());
    guard.args(passes_input.then_some("--input")).arg("--");
    Ok(guard)
}

/// This executable, even if its file has been replaced since.
fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { env::current_exe() }
}

/// Replaces this process with `command`; returns only if that fails.
pub(super) fn replace(mut command: process::Command) -> io::Result<u8> {
    Err(command.exec())
}
