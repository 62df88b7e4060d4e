//! Waiting for what should happen.

#[cfg(feature = "system-tests")]
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for anything that should happen: a machine that does other things at the same time is slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// The longest pause between two checks.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits until something is so; `state` describes what it is instead.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool, state: impl FnOnce() -> String) {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(5);
    while !is_so() {
        if Instant::now() > deadline {
            panic!("{}", state());
        }
        thread::sleep(pause);
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

/// Waits until a process ends. One that does not is killed; `talk` is what it has said.
#[cfg(feature = "system-tests")]
#[track_caller]
pub(crate) fn ended(process: &mut Child, talk: impl FnOnce(&mut Child) -> String) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            process.kill().ok();
            panic!("it does not end: {}", talk(process));
        }
        thread::sleep(Duration::from_millis(10));
    }
}
