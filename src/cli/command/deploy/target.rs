//! The place of a deployment, as its commands call it: a deployment service or a cluster.

use std::time::Duration;

use super::cluster::InCluster;
use crate::api::rules;
use crate::api::wire::{Deployment, DeploymentPatch, Revision};
use crate::cli::ask;
use crate::cli::env::Env;
use crate::cli::runtime::Runtime;
use crate::cli::service::Service;
use crate::error::Error;

/// The place of a deployment. Records of a cluster have the form of the service's, with names and numbers as IDs.
#[allow(clippy::large_enum_variant, reason = "a command has one")]
pub(super) enum Target<'a> {
    Service(Service<'a>),
    Cluster(InCluster<'a>),
}

impl Target<'_> {
    pub(super) fn env(&mut self) -> &mut Env {
        self.parts().0
    }

    /// The options that a hint adds to a command.
    pub(super) fn options(&self) -> String {
        match self {
            Self::Service(_) => String::new(),
            Self::Cluster(cluster) => cluster.cluster.options(),
        }
    }

    /// The place of a cluster, as in ` in namespace `a` of context `b``.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Service(_) => String::new(),
            Self::Cluster(cluster) => format!(" in {}", cluster.cluster.title()),
        }
    }

    /// Asks the user to confirm a change, unless `--yes` is given.
    pub(super) fn confirm(&mut self, question: &str, is_given: bool) -> Result<(), Error> {
        if is_given {
            return Ok(());
        }
        let (env, runtime) = self.parts();
        ask::confirm_if_possible(env, runtime, question, "--yes")
    }

    /// Waits until the place is to be queried again.
    pub(super) fn pause(&mut self) -> Result<(), Error> {
        let (env, runtime) = self.parts();
        let pause = async { tokio::time::sleep(env.retry_policy.poll).await };
        Ok(runtime.block_on(env.stop.unless_asked(pause))?)
    }

    fn parts(&mut self) -> (&mut Env, &Runtime) {
        match self {
            Self::Service(service) => (service.env, &service.runtime),
            Self::Cluster(cluster) => (cluster.env, &cluster.runtime),
        }
    }

    /// The newest revisions of a deployment, at most `limit`.
    pub(super) fn revisions(&mut self, of: &Deployment, limit: usize) -> Result<Vec<Revision>, Error> {
        match self {
            Self::Service(service) => service.call(async |client| client.revisions(&of.id, limit).await),
            Self::Cluster(cluster) => {
                let found = cluster.existing(&of.name)?;
                Ok(found.revisions.iter().take(limit).map(|revision| revision.wire()).collect())
            }
        }
    }

    /// Deploys a revision again, waits until it serves, and returns the ID of the new one.
    pub(super) fn redeploy(
        &mut self,
        before: &Deployment,
        revision: &str,
        timeout: Duration,
    ) -> Result<String, Error> {
        match self {
            Self::Service(service) => {
                let after = service.call(async |client| client.redeploy(before, revision).await)?;
                let new = after.latest_revision_id.unwrap_or_default();
                service.wait_for_revision(before, &new, timeout)?;
                Ok(new)
            }
            Self::Cluster(cluster) => cluster.redeploy(&before.name, revision, timeout),
        }
    }

    /// Refuses a change that breaks a rule of the service.
    pub(super) fn check(&self, before: &Deployment, patch: &DeploymentPatch) -> Result<(), Error> {
        match self {
            Self::Service(_) => Ok(rules::patch(before, patch)?),
            Self::Cluster(_) => Ok(()),
        }
    }

    /// Whether a patch makes a revision; `None` if only the service knows.
    pub(super) fn makes_revision(&self, patch: &DeploymentPatch) -> Option<bool> {
        match self {
            Self::Service(_) => rules::makes_revision(patch),
            Self::Cluster(_) => Some(true),
        }
    }

    /// Asks whether a service that the project chose gets the changes.
    pub(super) fn confirm_address(&mut self, patch: &DeploymentPatch) -> Result<(), Error> {
        let Self::Service(service) = self else { return Ok(()) };
        let secrets = patch.secrets.iter().flatten().filter(|secret| secret.value.is_some());
        service.confirm_address("the changes", secrets.map(|secret| secret.name.as_str()))
    }

    /// Changes a deployment.
    pub(super) fn patch(
        &mut self,
        before: &Deployment,
        patch: &DeploymentPatch,
    ) -> Result<Deployment, Error> {
        match self {
            Self::Service(service) => service.call(async |client| client.patch(before, patch).await),
            Self::Cluster(cluster) => cluster.patch(before, patch),
        }
    }

    /// Deletes a deployment, and with `volumes` its volumes in a cluster.
    pub(super) fn delete(&mut self, found: &Deployment, volumes: bool) -> Result<(), Error> {
        match self {
            Self::Service(service) => service.call(async |client| client.delete(&found.id).await),
            Self::Cluster(cluster) => {
                cluster.call(async |cluster| cluster.delete(&found.name, volumes).await)
            }
        }
    }
}
