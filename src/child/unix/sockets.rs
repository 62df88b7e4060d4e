//! Sockets that children inherit. Every other descriptor of this process is closed when a program is executed.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::{FdFlags, fcntl_setfd};

/// Held while a process is spawned, so that only the child that they are meant for inherits sockets.
static SPAWNING: Mutex<()> = Mutex::new(());

/// The number of the socket in a child that inherits it.
pub fn descriptor(socket: &TcpListener) -> i32 {
    socket.as_raw_fd()
}

/// Spawns a process while no other is spawned.
pub(in crate::child) fn spawning_alone<T>(spawn: impl FnOnce() -> T) -> T {
    let _alone = SPAWNING.lock().unwrap_or_else(PoisonError::into_inner);
    spawn()
}

/// Spawns a process that inherits `sockets`.
pub(super) fn spawning_with<T>(
    sockets: &[Arc<TcpListener>],
    spawn: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    spawning_alone(|| {
        let set = |flags| sockets.iter().try_for_each(|socket| fcntl_setfd(socket, flags));
        let spawned = set(FdFlags::empty()).map_err(io::Error::from).and_then(|()| spawn());
        set(FdFlags::CLOEXEC)?;
        spawned
    })
}
