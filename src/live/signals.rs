//! The signals that ask the program to stop: SIGINT, SIGTERM and SIGHUP, or Ctrl-C on Windows.

use std::io;
use std::thread;

/// Calls `raise` at each signal, on a thread that no work of the program can block. If it returns false, the signal ends the
/// process.
#[cfg(unix)]
pub(super) fn listen(raise: impl Fn() -> bool + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if !raise() {
                emulate_default_handler(signal).ok();
            }
        }
    })?;
    Ok(())
}

/// Calls `raise` at each Ctrl-C, on a thread that no work of the program can block. If it returns false, the process ends.
#[cfg(windows)]
pub(super) fn listen(raise: impl Fn() -> bool + Send + 'static) -> io::Result<()> {
    use tokio::runtime::Builder;
    use tokio::signal::windows::ctrl_c;

    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut presses = runtime.block_on(async { ctrl_c() })?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        while runtime.block_on(presses.recv()).is_some() {
            if !raise() {
                std::process::exit(INTERRUPTED);
            }
        }
    })?;
    Ok(())
}

/// Exit code of a process that Ctrl-C ends: STATUS_CONTROL_C_EXIT.
#[cfg(windows)]
const INTERRUPTED: i32 = 0xC000_013A_u32.cast_signed();
