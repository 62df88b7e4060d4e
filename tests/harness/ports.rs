//! Ports for servers of the tests.

use std::fs;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

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
