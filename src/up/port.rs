//! The ports of the services, and who uses them.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, TcpListener};

use super::error::Error;
use super::session::Session;
use crate::engine::{self, Container, Engine};

/// Checks that the ports of all services are free or used by `containers`, those of this project.
pub(super) async fn check(engine: &Engine, session: &Session, containers: &[Container]) -> Result<(), Error> {
    let all = session
        .setup
        .services
        .iter()
        .flat_map(|service| service.ports.iter().map(move |port| (service, port.host)));
    for (service, port) in all {
        if containers.iter().any(|container| container.ports.contains(&port)) {
            continue;
        }
        let is_container = engine.holder_of(port).await?.is_some();
        if is_container || is_here(engine) && is_open(session.addresses.get(&service.name), port) {
            let holder = holder(engine, port).await;
            return Err(Error::Port { service: service.name.clone(), port, holder });
        }
    }
    Ok(())
}

/// Names the user of a port for which a container could not be started.
pub(super) async fn explain(engine: &Engine, service: &str, error: engine::Error) -> Error {
    match error {
        engine::Error::PortTaken { port, .. } => {
            Error::Port { service: service.to_owned(), port, holder: holder(engine, port).await }
        }
        error => error.into(),
    }
}

async fn holder(engine: &Engine, port: u16) -> Option<String> {
    if let Ok(Some(container)) = engine.holder_of(port).await {
        return Some(format!("the container `{}`", container.name));
    }
    let process = listeners::get_process_by_port(port, listeners::Protocol::TCP);
    let process = process.ok().filter(|_| is_here(engine))?;
    Some(format!("{} (process {})", process.name, process.pid))
}

/// Whether the engine opens ports on this machine.
fn is_here(engine: &Engine) -> bool {
    engine.host().starts_with("unix:") || engine.host().starts_with("npipe:")
}

/// Whether a program listens. Other reasons for which the port cannot be opened here may not apply to the engine.
fn is_open(address: Option<&IpAddr>, port: u16) -> bool {
    let address = address.copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    let tried = TcpListener::bind((address, port));
    tried.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}
