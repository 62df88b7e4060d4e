//! The port that the server listens on.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, ToSocketAddrs};

use super::error::Error;
use super::session::Port;
use crate::project::reason;

/// Number of ports that are tried after the first.
const TRIED: u16 = 100;

/// Chooses the port, and returns it with the program that uses the first choice, if that is another port.
///
/// # Errors
///
/// The server cannot listen there.
pub fn choose(host: &str, port: Port) -> Result<(u16, Option<String>), Error> {
    let first = port.number();
    let Err(error) = bind(host, first) else { return Ok((first, None)) };
    let taken = error.kind() == ErrorKind::AddrInUse;
    if taken && let Port::From(_) = port {
        let last = first.saturating_add(TRIED);
        let next = (first..=last).skip(1).find(|&port| bind(host, port).is_ok());
        if let Some(next) = next {
            return Ok((next, Some(holder(first).unwrap_or_else(|| "another program".to_owned()))));
        }
    }
    Err(refused(host, first, &error))
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

/// Checks that the server can listen on all addresses of the host that this machine has.
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
