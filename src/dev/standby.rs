//! The standby: a second process of the Python server, which has imported the packages of the environment and no file of the
//! project. When the code changes, it becomes the server, which takes half of the time of a new process.

use std::fs;

use super::server::{self, Address, Runtime};
use super::session::{Options, Session};
use crate::child::Child;
use crate::compiler::back::plan::Variant;

/// Available memory below which there is no standby, in KiB.
const LEAST_MEMORY: u64 = 2 << 20;

/// The line that lets a standby serve.
const SERVE: &str = "serve\n";

/// Whether servers of this project can have a standby. A debugger belongs to one process, and a server with a JavaScript part
/// starts more than one.
pub(super) fn is_possible(session: &Session, options: &Options) -> bool {
    let is_python = session.plan.server.variant == Variant::Python;
    options.reload && options.standby && options.debugger.is_none() && is_python
}

/// Starts a standby, unless memory is scarce. Without one, the next restart takes longer.
pub(super) fn start(
    session: &Session,
    options: &Options,
    runtime: &Runtime,
    address: &Address,
) -> Option<Child> {
    let is_useful = is_possible(session, options) && has_memory();
    is_useful.then(|| server::start(session, options, runtime, address, true).ok()).flatten()
}

/// Lets a standby serve; none if it has ended.
pub(super) async fn serve(standby: Option<Child>) -> Option<Child> {
    let mut standby = standby?;
    standby.send(SERVE).await.ok()?;
    Some(standby)
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
