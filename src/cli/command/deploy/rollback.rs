//! `agentcli deploy rollback`

use std::time::Duration;

use serde_json::json;

use super::cluster::{ClusterOptions, KUBERNETES};
use super::shown::{print_json, title};
use super::target::Target;
use super::which::Which;
use crate::api::wire::{Deployment, Revision, RevisionStatus};
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::error::Error;

/// Number of revisions among which the one to go back to is searched.
const SEARCHED: usize = 100;

/// Go back to an earlier revision of a deployment
///
/// The service deploys the earlier revision again, as a new one, with the present secrets. It is the last deployed one
/// before the active one unless --to names another.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy rollback my-agent
  agentcli deploy rollback my-agent --to 0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001 --yes")]
pub(super) struct Rollback {
    #[command(flatten)]
    which: Which,

    /// ID of the revision to deploy again; kubernetes instead or besides, for a revision in a cluster
    #[arg(long, value_name = "REVISION")]
    to: Vec<String>,

    /// Timeout for the new revision to be deployed, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,

    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    options: CallOptions,
}

impl Rollback {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut target, before) = self.which.find(env, cluster, &self.options.account)?;
        let revision = self.target(&mut target, &before)?;
        let title = visible_line(&title(&before));
        let from = revision.created_at.get(..16).unwrap_or_default().replace('T', " ");
        let question = format!("Roll {title} back to the revision {} of {from}?", revision.id);
        target.confirm(&question, self.yes)?;
        let new = target.redeploy(&before, &revision.id, Duration::from_secs(self.timeout))?;
        if self.options.json {
            let result = json!({
                "rolled_back": before.id, "name": before.name, "to": revision.id, "new_revision": new,
            });
            return print_json(target.env(), &result);
        }
        target.env().print(&format!("rolled {title} back to {}; new revision {new}", revision.id));
        Ok(())
    }

    /// The revision that --to names.
    fn revision(&self) -> Result<Option<&String>, Error> {
        let mut named = self.to.iter().filter(|to| *to != KUBERNETES);
        match (named.next(), named.next()) {
            (revision, None) => Ok(revision),
            _ => Err(Error::misused("--to names two revisions")),
        }
    }

    /// The revision to deploy again.
    fn target(&self, target: &mut Target<'_>, deployment: &Deployment) -> Result<Revision, Error> {
        let named = self.revision()?;
        if let (Some(id), Target::Service(service)) = (named, &mut *target) {
            return service.call(async |client| client.revision(&deployment.id, id).await);
        }
        let revisions = target.revisions(deployment, SEARCHED)?;
        let is_active = |revision: &Revision| Some(&revision.id) == deployment.active_revision_id.as_ref();
        let found = match named {
            Some(id) => revisions.into_iter().find(|revision| revision.id == *id),
            None => {
                let mut earlier = revisions.into_iter().skip_while(|revision| !is_active(revision)).skip(1);
                earlier.find(|revision| revision.status == RevisionStatus::Deployed)
            }
        };
        found.ok_or_else(|| {
            let name = visible_line(&deployment.name);
            let message = match named {
                Some(id) => format!("`{name}` has no revision {}", visible_line(id)),
                None => format!("`{name}` has no earlier revision that was deployed"),
            };
            let list = format!("agentcli deploy revisions list {}{}", deployment.id, target.options());
            Error::usage(message, format!("run `{list}`, and name one with --to"))
        })
    }
}
