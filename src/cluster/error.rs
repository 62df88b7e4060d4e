//! Why a command on a cluster failed.

use crate::live::Interrupted;
use crate::ship;

/// Why a command on a cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// kubectl, the cluster or the revision failed, or does not allow it.
    #[error("{message}")]
    Cluster {
        /// What is to blame.
        kind: Kind,
        /// A lowercase fragment.
        message: String,
        /// The next step.
        hint: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The image could not be built or pushed.
    #[error(transparent)]
    Ship(#[from] ship::Error),
}

/// What is to blame for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another deploy of the same name runs.
    Busy,
    /// The user lacks a right.
    Denied,
    /// kubectl or the cluster failed, or the revision did not start.
    Failed,
    /// The cluster or the deployment there does not allow it.
    Refused,
    /// The cluster cannot be reached.
    Unreachable,
}

impl Kind {
    pub(super) fn error(self, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Cluster { kind: self, message: message.into(), hint: hint.into() }
    }
}

impl Error {
    /// Whether this is to blame.
    pub fn is(&self, wanted: Kind) -> bool {
        matches!(self, Self::Cluster { kind, .. } if *kind == wanted)
    }

    /// Nothing, if the user may not see it.
    pub(super) fn unless_denied<T: Default>(self) -> Result<T, Self> {
        if self.is(Kind::Denied) { Ok(T::default()) } else { Err(self) }
    }

    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Cluster { hint, .. } => Some(hint.clone()),
            Self::Ship(error) => error.hint(),
            Self::Interrupted => None,
        }
    }
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}
