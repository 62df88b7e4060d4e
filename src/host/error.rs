//! Why the service cannot be started.

use std::io;

use crate::project;

/// What went wrong: what was attempted, on what, why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {host}:{port}: {}", project::reason(.source))]
    Bind {
        /// Address.
        host: String,
        /// Port.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// There is nowhere to put uploads.
    #[error("cannot make a temporary directory for uploads: {}", project::reason(.source))]
    Uploads {
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("something else listens there; choose another port with --port, or 0 for any".to_owned())
            }
            Self::Bind { .. } => None,
            Self::Uploads { .. } => Some("set TMPDIR to a directory that can be written to".to_owned()),
        }
    }
}
