//! Why a deployment did not happen.

use crate::live::Interrupted;
use crate::{api, engine, registry};

/// Why a deployment did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The deployment service refused, or could not be reached.
    #[error(transparent)]
    Api(#[from] api::Error),
    /// The user does not want to create the deployment.
    #[error("nothing was changed")]
    Declined,
    /// The container engine refused, or could not be reached.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The revision has failed.
    #[error("{message}")]
    Failed {
        /// A lowercase fragment.
        message: String,
        /// The next step for the user.
        hint: String,
    },
    /// The user stopped it; the service was not asked to change anything, or has reported the change.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The user stopped it after the service was asked to create a deployment or a revision.
    #[error("interrupted")]
    InterruptedAtService {
        /// How to see what the service has done.
        hint: String,
    },
    /// The revision is not deployed yet.
    #[error("{message}")]
    Pending {
        /// A lowercase fragment.
        message: String,
        /// The next step for the user.
        hint: String,
    },
    /// The registry refused, or could not be reached, or its image has to be built again.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// The deployment cannot be deployed to in the requested way.
    #[error("{message}")]
    Refused {
        /// A lowercase fragment.
        message: String,
        /// The next step for the user.
        hint: String,
    },
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Api(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Registry(error) => error.hint(),
            Self::Declined | Self::Interrupted(_) => None,
            Self::Failed { hint, .. }
            | Self::InterruptedAtService { hint }
            | Self::Pending { hint, .. }
            | Self::Refused { hint, .. } => Some(hint.clone()),
        }
    }

    /// The same, where the service may have the revision already: an interrupt ends only the watching.
    pub(super) fn while_revision_continues(self, deployment_id: &str, state: &str) -> Self {
        let hint = || format!("{state}; see `agentcli deploy revisions list {deployment_id}`");
        match self {
            Self::Interrupted(_) => Self::InterruptedAtService { hint: hint() },
            error => error,
        }
    }
}
