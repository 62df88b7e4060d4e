//! The parts of the machine that the group `system-tests` uses.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use super::copy_changed;

/// Copies a project.
pub(crate) fn copy(from: &Path, to: &Path) {
    copy_changed(from, to, &|bytes| bytes);
}

/// Returns the interpreter with the packages of `tests/python/requirements.txt`.
pub(crate) fn python() -> PathBuf {
    let state = || env::var_os("AGENTCLI_TEST_STATE").unwrap_or_else(|| "/var/tmp/agentcli-tests".into());
    let python = env::var_os("AGENTCLI_TEST_PYTHON")
        .map_or_else(|| Path::new(&state()).join("python/bin/python"), PathBuf::from);
    assert!(python.exists(), "{} does not exist; run tests/python/install", python.display());
    python
}

/// Returns the path in `variable`, which names files outside of the repository.
pub(crate) fn outside(variable: &str) -> PathBuf {
    env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set; see tests/run")).into()
}

/// Returns a free port that nothing else takes before it is used: no other test of this process, and no outgoing
/// connection, since it lies below the range of their ports.
pub(crate) fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let end = range.split_whitespace().next().and_then(|start| start.parse().ok());
    let end = end.filter(|end| *end > 2 * FIRST).unwrap_or(32_768);
    // Test processes that run at the same time start at different ports.
    let start = std::process::id().wrapping_mul(97);
    let ports = (FIRST..end).map(|_| start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut ports = ports.map(|number| u16::try_from(FIRST + number % (end - FIRST)).unwrap());
    ports.find(|port| TcpListener::bind(("0.0.0.0", *port)).is_ok()).unwrap()
}
