//! Why a command on a cluster failed.

use crate::live::Interrupted;
use crate::ship;

/// Why a command on a cluster failed. Messages are lowercase fragments, hints are the next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another deployment of the same name runs.
    #[error("{message}")]
    Busy {
        /// The reason.
        message: String,
        /// The next step.
        hint: String,
    },
    /// The user lacks a right.
    #[error("{message}")]
    Denied {
        /// The reason.
        message: String,
        /// The next step.
        hint: String,
    },
    /// kubectl or the cluster failed, or the revision did not start.
    #[error("{message}")]
    Failed {
        /// The reason.
        message: String,
        /// The next step.
        hint: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The cluster or the deployment there does not allow it.
    #[error("{message}")]
    Refused {
        /// The reason.
        message: String,
        /// The next step.
        hint: String,
    },
    /// The image could not be built or pushed.
    #[error(transparent)]
    Ship(#[from] ship::Error),
    /// The cluster cannot be reached.
    #[error("{message}")]
    Unreachable {
        /// The reason.
        message: String,
        /// The next step.
        hint: String,
    },
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl Error {
    pub(super) fn busy(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Busy { message: message.into(), hint: hint.into() }
    }

    pub(super) fn denied(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Denied { message: message.into(), hint: hint.into() }
    }

    pub(super) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: hint.into() }
    }

    pub(super) fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { hint, .. }
            | Self::Denied { hint, .. }
            | Self::Failed { hint, .. }
            | Self::Refused { hint, .. }
            | Self::Unreachable { hint, .. } => Some(hint.clone()),
            Self::Ship(error) => error.hint(),
            Self::Interrupted => None,
        }
    }
}
