//! The port that the server listens on.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, ToSocketAddrs};

use super::error::Error;
use super::session::Port;
use crate::project::reason;

/// How many ports after the wanted one are tried.
const TRIED: u16 = 100;

/// The port to use, and who holds the wanted one where that is another.
pub(super) fn choose(host: &str, port: Port) -> Result<(u16, Option<String>), Error> {
    let wanted = port.number();
    let Err(error) = bind(host, wanted) else { return Ok((wanted, None)) };
    let taken = error.kind() == ErrorKind::AddrInUse;
    if taken && let Port::From(_) = port {
        let last = wanted.saturating_add(TRIED);
        let next = (wanted..=last).skip(1).find(|&port| bind(host, port).is_ok());
        if let Some(next) = next {
            return Ok((next, Some(holder(wanted).unwrap_or_else(|| "another program".to_owned()))));
        }
    }
    Err(refused(host, wanted, &error))
}

/// Ports of this machine that nobody listens on, all different; none where there are none.
pub(super) fn free(count: usize) -> Vec<u16> {
    let held: Vec<_> = (0..count).filter_map(|_| TcpListener::bind(("127.0.0.1", 0)).ok()).collect();
    held.iter().filter_map(|listener| Some(listener.local_addr().ok()?.port())).collect()
}

/// Whether only this machine can reach the host.
pub(super) fn is_loopback(host: &str) -> bool {
    let addresses = (host, 0).to_socket_addrs();
    addresses.is_ok_and(|mut addresses| addresses.all(|address| address.ip().is_loopback()))
}

/// Whether the server can listen: on all addresses that the host has, but for those that this machine does not.
fn bind(host: &str, port: u16) -> io::Result<()> {
    let mut done = Err(io::Error::from(ErrorKind::AddrNotAvailable));
    for address in (host, port).to_socket_addrs()? {
        match TcpListener::bind(address) {
            Ok(_) => done = Ok(()),
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
            Err(error) => done = done.or(Err(error)),
        }
    }
    done
}

fn refused(host: &str, port: u16, error: &io::Error) -> Error {
    let (reason, hint) = match error.kind() {
        ErrorKind::AddrInUse => {
            let holder = holder(port).unwrap_or_else(|| "another program".to_owned());
            (format!("{holder} listens there"), Some("stop it, or choose another with --port".to_owned()))
        }
        ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), Some("choose a port of 1024 or above with --port".to_owned()))
        }
        ErrorKind::AddrNotAvailable => (
            "this machine has no such address".to_owned(),
            Some("127.0.0.1 and 0.0.0.0 are always there".to_owned()),
        ),
        _ => (reason(error), Some("check the host".to_owned())),
    };
    Error::Port { host: host.to_owned(), port, reason, hint }
}

/// The program that listens on a port, where the system tells.
fn holder(port: u16) -> Option<String> {
    let process = listeners::get_process_by_port(port, listeners::Protocol::TCP).ok()?;
    Some(format!("{} (process {})", process.name, process.pid))
}
