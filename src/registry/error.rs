//! Errors of registries.

use crate::context;
use crate::live::Interrupted;

/// A failed operation of a registry. It has no credentials and no query of a URL.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The build context cannot be read.
    #[error(transparent)]
    Context(#[from] context::Error),
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The image cannot be made from the one in the registry.
    #[error("cannot build `{image}` without a container engine: {reason}")]
    Different {
        /// The image.
        image: String,
        /// The first difference, as a fragment.
        reason: String,
        /// The next step.
        hint: &'static str,
    },
    /// A document cannot be attached to an image.
    #[error("cannot attach a document to `{image}`: {reason}")]
    Other {
        /// The image.
        image: String,
        /// The reason, as a fragment.
        reason: String,
    },
    /// A response contradicts the protocol, or has another digest than it should.
    #[error("cannot {what}: the registry `{host}` gave an invalid response: {reason}")]
    Invalid {
        /// The operation, such as ``push `registry.example/a:1` ``.
        what: String,
        /// The registry.
        host: String,
        /// The violation.
        reason: String,
    },
    /// The registry refuses for another reason than credentials.
    #[error("cannot {what}: the registry `{host}` refused with status {status}: {reason}")]
    Refused {
        /// The operation.
        what: String,
        /// The registry.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The message of the registry.
        reason: String,
    },
    /// The connection cannot be made secure.
    #[error("cannot make a secure connection to the registry `{host}`: {reason}")]
    Tls {
        /// The registry.
        host: String,
        /// The cause.
        reason: String,
    },
    /// The registry requires other credentials.
    #[error("cannot {what}: the registry `{host}` denied access: {reason}")]
    Unauthorized {
        /// The operation.
        what: String,
        /// The registry.
        host: String,
        /// The message of the registry.
        reason: String,
    },
    /// The registry is unreachable or busy.
    #[error("cannot {what}: the registry `{host}` is unavailable: {reason}")]
    Unavailable {
        /// The operation.
        what: String,
        /// The registry.
        host: String,
        /// The cause.
        reason: String,
    },
}

impl Error {
    /// Whether the image or its registry is the cause, and neither the user nor the build context.
    pub fn is_of_registry(&self) -> bool {
        !matches!(self, Self::Context(_) | Self::Interrupted(_))
    }

    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Context(error) => return error.hint(),
            Self::Other { .. } => {
                "push the image first, or pull the one of the registry, so that the document is about the same image".to_owned()
            }
            Self::Different { hint, .. } => (*hint).to_owned(),
            Self::Unauthorized { host, .. } => format!("log in with `docker login {host}`, or check the name of the image"),
            Self::Unavailable { .. } => {
                "check the network and the name of the registry, and run the same command again; what arrived is not sent \
                 again"
                    .to_owned()
            }
            Self::Invalid { .. } => "check that the address is that of a registry, and contact its operator".to_owned(),
            Self::Tls { .. } => {
                "check the certificate of the registry; set SSL_CERT_FILE to trust the certificate of your own authority"
                    .to_owned()
            }
            Self::Refused { status: 404, .. } => "check the name of the image".to_owned(),
            Self::Interrupted(_) | Self::Refused { .. } => return None,
        })
    }
}
