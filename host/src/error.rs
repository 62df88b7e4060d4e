//! Errors at the start of the service.

use std::io;
use std::net::SocketAddr;

use agentcli::project;

use super::{TlsError, store};

/// A failed start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be bound.
    #[error("cannot listen on {address}: {}", project::reason(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The reason of the system.
        source: io::Error,
    },
    /// Others can reach the address, and there is no API key.
    #[error("cannot listen on {address}: other machines can reach it, and there is no API key")]
    NoKeys {
        /// The address.
        address: SocketAddr,
    },
    /// The runner cannot be set up.
    #[error("cannot run deployments: {0}")]
    Runner(String),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
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
                Some("the port is in use; choose another one, or 0 for any".to_owned())
            }
            Self::Bind { .. } | Self::Runner(_) => None,
            Self::NoKeys { .. } => Some("run `agentcli host keys create` with the same --data".to_owned()),
            Self::Broken(_) => None,
            Self::Tls(error) => error.hint().map(str::to_owned),
            Self::Store(error) => error.hint(),
        }
    }
}

impl From<Error> for agentcli::error::Error {
    fn from(error: Error) -> Self {
        Self::Host { message: error.to_string(), hint: error.hint() }
    }
}
