//! The standby: a second process of the server, which has imported the packages of the environment and no file of the project.
//! When the code changes, it becomes the server, which takes a small part of the time of a new process.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;

use super::address::Address;
use super::environment::changed_at;
use super::server::{self, Runtime};
use super::session::{Options, Session};
use super::story;
use crate::child::{Child, Next, Status};
use crate::compiler::back::plan::Variant;

/// Available memory below which there is no standby, in KiB.
const LEAST_MEMORY: u64 = 2 << 20;

/// The line that lets a standby serve.
const SERVE: &str = "serve\n";

/// The line that lets a standby try whether the project loads: Python in a copy of itself, Node.js in itself.
const TRY: &str = "try\n";

/// The exit code of a standby that cannot serve, as `server/standby.mjs` has it.
const UNUSABLE: i32 = 75;

/// A standby, and the files of the project that decide what it has imported, with the times of their last change.
pub(super) struct Standby {
    process: Child,
    read: Vec<(PathBuf, Option<u128>)>,
}

/// Whether servers of this project can have a standby. A debugger belongs to one process, and a server with a JavaScript part
/// beside the Python one starts more than one.
pub(super) fn is_possible(session: &Session, options: &Options) -> bool {
    let is_one_process = session.plan.server.variant != Variant::Mixed;
    options.reload && options.standby && options.debugger.is_none() && is_one_process
}

/// Starts a standby, unless memory is scarce. Without one, the next restart takes longer.
pub(super) fn start(
    session: &Session,
    options: &Options,
    runtime: &Runtime,
    address: &Address,
) -> Option<Standby> {
    if !is_possible(session, options) || !has_memory() {
        return None;
    }
    let is_javascript = session.plan.server.variant == Variant::Javascript;
    let files = if is_javascript { server::resolution_files(session) } else { Vec::new() };
    let read = files.into_iter().map(|file| {
        let changed = changed_at(&file);
        (file, changed)
    });
    let read = read.collect();
    let process = server::start(session, options, runtime, address, true).ok()?;
    Some(Standby { process, read })
}

/// Lets a standby serve; none if it has ended, or has read what is different now.
pub(super) async fn serve(standby: Option<Standby>) -> Option<Child> {
    let Standby { mut process, read } = standby?;
    if read.iter().any(|(file, changed)| changed_at(file) != *changed) {
        return None;
    }
    process.send(SERVE).await.ok()?;
    Some(process)
}

/// Tries in a standby whether the project loads as it is now; the lines of a failure, if it fails. A standby that does not
/// tell within `limit` is given up: the restart shows what is wrong.
pub(super) async fn failure(standby: &mut Option<Standby>, limit: Duration) -> Option<Vec<String>> {
    let Standby { process, .. } = standby.as_mut()?;
    let mut lines = Vec::new();
    let tried = async {
        process.send(TRY).await.ok()?;
        loop {
            match process.next().await.ok()? {
                Next::Lines(new) => {
                    for line in new {
                        if let Some(loads) = story::loads(&line) {
                            return Some(loads);
                        }
                        lines.push(line);
                    }
                }
                // The project ended it.
                Next::Ended(status) => return (!is_lost(status)).then_some(false),
            }
        }
    };
    let loads = timeout(limit, tried).await.ok().flatten();
    if loads.is_none() {
        *standby = None;
    }
    (loads == Some(false)).then_some(lines)
}

/// Whether a process that ended with `status` before it was ready was killed, or could not serve: a new process may do
/// better.
pub(super) fn is_lost(status: Status) -> bool {
    matches!(status, Status::Signal(_) | Status::Code(UNUSABLE))
}

/// Whether there is enough memory, which only Linux tells.
fn has_memory() -> bool {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    available(&text).is_none_or(|kibibytes| kibibytes >= LEAST_MEMORY)
}

/// The available memory in the text of /proc/meminfo, in KiB.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_available_memory() {
        let text = "MemTotal:       24683988 kB\nMemFree:         1023456 kB\nMemAvailable:   21925000 kB\n";
        assert_eq!(available(text), Some(21_925_000));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert_eq!(available(""), None);
    }
}
