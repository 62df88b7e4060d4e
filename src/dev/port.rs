//! The port and the sockets that the server listens on. They belong to this program, and every process of the server inherits
//! them: connections that are made while it restarts wait for the next process.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::error::Error;
use super::session::Port;
use crate::project::reason;

/// Number of ports that are tried after the first.
const TRIED: u16 = 100;

/// Pause after a connection that could not be accepted, since there may be no descriptors left.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// A port that this program listens on.
pub struct Bound {
    /// Its number.
    pub port: u16,
    /// The program that uses the first choice, if this is another port.
    pub holder: Option<String>,
    /// One for each address of the host that this machine has.
    pub(super) sockets: Vec<Arc<TcpListener>>,
}

/// Chooses the port and listens on it.
///
/// # Errors
///
/// It is not possible to listen there.
pub fn bind(host: &str, port: Port) -> Result<Bound, Error> {
    let first = port.number();
    let error = match listen(host, first) {
        Ok(sockets) => return Ok(Bound { port: first, holder: None, sockets }),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::AddrInUse
        && let Port::From(_) = port
    {
        let last = first.saturating_add(TRIED);
        let next = (first..=last).skip(1).find_map(|port| Some((port, listen(host, port).ok()?)));
        if let Some((port, sockets)) = next {
            let holder = holder(first).unwrap_or_else(|| "another program".to_owned());
            return Ok(Bound { port, holder: Some(holder), sockets });
        }
    }
    Err(refused(host, first, &error))
}

/// Closes the connections that clients make while no server runs and none is about to, until this is dropped: they would wait
/// in vain.
pub(super) fn close_connections(sockets: &[Arc<TcpListener>]) -> io::Result<JoinSet<()>> {
    let mut tasks = JoinSet::new();
    for socket in sockets {
        let socket = socket.try_clone()?;
        socket.set_nonblocking(true)?;
        let socket = tokio::net::TcpListener::from_std(socket)?;
        tasks.spawn(async move {
            loop {
                if socket.accept().await.is_err() {
                    sleep(AFTER_FAILURE).await;
                }
            }
        });
    }
    Ok(tasks)
}

/// Different free ports of this machine; fewer if there are not enough.
pub(super) fn free(count: usize) -> Vec<u16> {
    let held: Vec<_> = (0..count).filter_map(|_| TcpListener::bind(("127.0.0.1", 0)).ok()).collect();
    held.iter().filter_map(|listener| Some(listener.local_addr().ok()?.port())).collect()
}

/// Whether only this machine can reach the host.
pub(super) fn is_loopback(host: &str) -> bool {
    let addresses = (host, 0).to_socket_addrs();
    addresses.is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback()))
}

/// Listens on all addresses of the host that this machine has.
fn listen(host: &str, port: u16) -> io::Result<Vec<Arc<TcpListener>>> {
    let mut sockets = Vec::new();
    let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs()? {
        match TcpListener::bind(address) {
            Ok(socket) => sockets.push(Arc::new(socket)),
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
            Err(error) => failed = error,
        }
    }
    if sockets.is_empty() { Err(failed) } else { Ok(sockets) }
}

fn refused(host: &str, port: u16, error: &io::Error) -> Error {
    let (reason, hint) = match error.kind() {
        ErrorKind::AddrInUse => {
            let holder = holder(port).unwrap_or_else(|| "another program".to_owned());
            (
                format!("it is in use by {holder}"),
                Some("stop it, or choose another port with --port".to_owned()),
            )
        }
        ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), Some("choose a port from 1024 with --port".to_owned()))
        }
        ErrorKind::AddrNotAvailable => (
            "this machine does not have this address".to_owned(),
            Some("use 127.0.0.1, or 0.0.0.0 for all addresses".to_owned()),
        ),
        _ => (reason(error), Some("check --host".to_owned())),
    };
    Error::Port { host: host.to_owned(), port, reason, hint }
}

/// The program that listens on a port, if the system tells.
fn holder(port: u16) -> Option<String> {
    let process = listeners::get_process_by_port(port, listeners::Protocol::TCP).ok()?;
    Some(format!("{} (process {})", process.name, process.pid))
}
