//! Reports a panic as a bug, with its own exit code.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process::ExitCode;

use super::VERSION;
use crate::error;

/// Runs the program; a panic becomes a message and exit code 70. RUST_BACKTRACE=1 shows where it came from.
pub fn guarded(program: impl FnOnce() -> u8) -> ExitCode {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        panic::set_hook(Box::new(report));
    }
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(error::INTERNAL).into()
}

fn report(panic: &PanicHookInfo<'_>) {
    let what = panic.payload_as_str().unwrap_or("no message");
    let place =
        panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    // Stderr may be closed.
    writeln!(
        std::io::stderr(),
        "internal error: {what}{place}\n\
         hint: this is a bug in agentcli {VERSION}; please report it together with the configuration and the command"
    )
    .ok();
}
