//! Errors at the start of the service.

use std::io;

use agentcli::project;

use super::store;

/// A failed start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be bound.
    #[error("cannot listen on {host}:{port}: {}", project::reason(.source))]
    Bind {
        /// Address.
        host: String,
        /// Port.
        port: u16,
        /// The reason of the system.
        source: io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The database failed.
    #[error(transparent)]
    Broken(#[from] store::Broken),
}

impl Error {
    /// The next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("the port is in use; choose another port with --port, or 0 for any".to_owned())
            }
            Self::Bind { .. } => None,
            Self::Broken(_) => None,
            Self::Store(error) => error.hint(),
        }
    }
}

impl From<Error> for agentcli::error::Error {
    fn from(error: Error) -> Self {
        Self::Host { message: error.to_string(), hint: error.hint() }
    }
}
