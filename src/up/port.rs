//! Whose a port is that a service should open.

use super::error::Error;
use crate::engine::{self, Engine};

/// The error for a container that could not be started.
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
    // Of other machines' programs nothing is known here.
    let is_here = engine.host().starts_with("unix:") || engine.host().starts_with("npipe:");
    let process = listeners::get_process_by_port(port, listeners::Protocol::TCP).ok().filter(|_| is_here)?;
    Some(format!("{} (process {})", process.name, process.pid))
}
