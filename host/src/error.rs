//! Errors at the start of the service.

use std::io;

use agentcli::project;

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
    /// There is no directory for uploads.
    #[error("cannot create a temporary directory for uploads: {}", project::reason(.source))]
    Uploads {
        /// The reason of the system.
        source: io::Error,
    },
}

impl Error {
    /// The next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("the port is in use; choose another port with --port, or 0 for any".to_owned())
            }
            Self::Bind { .. } => None,
            Self::Uploads { .. } => Some("set TMPDIR to a writable directory".to_owned()),
        }
    }
}

impl From<Error> for agentcli::error::Error {
    fn from(error: Error) -> Self {
        Self::Host { message: error.to_string(), hint: error.hint() }
    }
}
