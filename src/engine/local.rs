//! Sockets of this machine, of engines and SSH agents: Unix sockets, and named pipes on Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::is_socket;
pub(super) use system::{SCHEME, connect, default_sockets};
