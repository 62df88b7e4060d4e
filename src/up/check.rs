//! Checks before anything is changed: each project name belongs to one directory, and ports are free.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::Path;

use super::error::Error;
use super::labels;
use super::session::Session;
use crate::compiler::server::setup as contract;
use crate::engine::{self, Container, Engine};

/// Checks that the project name belongs to this directory and that its ports are free, before anything is changed.
///
/// # Errors
///
/// [`Error::Taken`], [`Error::Port`]; the engine refuses, or is gone.
pub async fn check(engine: &Engine, session: &Session) -> Result<(), Error> {
    let containers = engine.containers(labels::PROJECT, &session.setup.name).await?;
    check_directory(&containers, &session.setup.name, &session.directory)?;
    check_ports(engine, session, &containers).await
}

/// Checks that no other directory has the project of these containers: they and their data must not be changed.
///
/// # Errors
///
/// [`Error::Taken`].
pub(super) fn check_directory(
    containers: &[Container],
    project: &str,
    directory: &Path,
) -> Result<(), Error> {
    let ours = directory.display().to_string();
    let of = |container: &Container| container.labels.get(labels::DIRECTORY).cloned();
    match containers.iter().filter_map(of).find(|directory| *directory != ours) {
        Some(directory) => Err(Error::Taken { project: project.to_owned(), directory }),
        None => Ok(()),
    }
}

/// Checks that the ports of all services are free or used by `containers`, those of this project.
async fn check_ports(engine: &Engine, session: &Session, containers: &[Container]) -> Result<(), Error> {
    let all = session
        .setup
        .services
        .iter()
        .flat_map(|service| service.ports.iter().map(move |port| (service, port.host)));
    for (service, port) in all {
        let address = session.addresses.get(&service.name).copied();
        check_port(engine, containers, &service.name, address, port).await?;
    }
    Ok(())
}

/// Checks that the port of a service is free or used by the containers of this project.
///
/// # Errors
///
/// [`Error::Port`]; the engine refuses, or is gone.
pub async fn check_default_port(engine: &Engine, project: &str, port: u16) -> Result<(), Error> {
    let containers = engine.containers(labels::PROJECT, project).await?;
    check_port(engine, &containers, contract::SERVER, Some(Ipv4Addr::LOCALHOST.into()), port).await
}

async fn check_port(
    engine: &Engine,
    containers: &[Container],
    service: &str,
    address: Option<IpAddr>,
    port: u16,
) -> Result<(), Error> {
    if containers.iter().any(|container| container.ports.contains(&port)) {
        return Ok(());
    }
    let is_container = engine.holder_of(port).await?.is_some();
    if is_container || engine.is_here() && is_open(address, port) {
        let holder = holder(engine, port).await;
        return Err(Error::Port { service: service.to_owned(), port, holder });
    }
    Ok(())
}

/// Names the user of a port for which a container could not be started.
pub(super) async fn explain_port(engine: &Engine, service: &str, error: engine::Error) -> Error {
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
    let process = process.ok().filter(|_| engine.is_here())?;
    Some(format!("{} (process {})", process.name, process.pid))
}

/// Whether a program listens. Other reasons for which the port cannot be opened here may not apply to the engine.
fn is_open(address: Option<IpAddr>, port: u16) -> bool {
    let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    let tried = TcpListener::bind((address, port));
    tried.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}
