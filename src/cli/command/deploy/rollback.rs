//! `agentcli deploy rollback`

use std::time::Duration;

use serde_json::json;

use super::cluster::{InCluster, KUBERNETES};
use super::shown::{print_json, title};
use super::which::Which;
use crate::api::wire::{Deployment, Revision, RevisionStatus};
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::cluster::Change;
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
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (mut service, before) = self.which.find(env, &self.options.account)?;
        let target = self.target(&mut service, &before)?;
        let title = visible_line(&title(&before));
        if !self.yes {
            let from = target.created_at.get(..16).unwrap_or_default().replace('T', " ");
            let question = format!("Roll {title} back to the revision {} of {from}?", target.id);
            service.confirm(&question, "--yes")?;
        }
        let after = service.call(async |client| client.redeploy(&before, &target.id).await)?;
        let new = after.latest_revision_id.unwrap_or_default();
        service.wait_for_revision(&before, &new, Duration::from_secs(self.timeout))?;
        if self.options.json {
            let result = json!({
                "rolled_back": before.id, "name": before.name, "to": target.id, "new_revision": new,
            });
            return print_json(service.env, &result);
        }
        service.env.print(&format!("rolled {title} back to {}; new revision {new}", target.id));
        Ok(())
    }

    pub(super) fn run_in(self, mut cluster: InCluster<'_>) -> Result<(), Error> {
        let found = cluster.find(&self.which)?;
        let earlier =
            || found.revisions.iter().skip_while(|it| Some(it.number) != found.active().map(|it| it.number));
        let target = match self.revision()? {
            Some(id) => found.revisions.iter().find(|it| it.number.to_string() == *id),
            None => earlier().skip(1).find(|it| it.status == RevisionStatus::Deployed),
        };
        let name = found.name.clone();
        let target = target.cloned().ok_or_else(|| {
            no_revision(&name, self.revision().ok().flatten(), &format!("{name} --to kubernetes"))
        })?;
        cluster.confirm(
            &format!("Roll `{name}` back to the revision {} of {}?", target.number, target.created_at),
            self.yes,
        )?;
        let timeout = Some(Duration::from_secs(self.timeout));
        let change = Change { is_forced: true, ..cluster.again(&found, target.record, timeout) };
        let new = cluster.revise(found, change)?.to_string();
        if self.options.json {
            let target = target.number.to_string();
            let result = json!({ "rolled_back": name, "name": name, "to": target, "new_revision": new });
            return print_json(cluster.env, &result);
        }
        cluster.env.print(&format!("rolled `{name}` back to {}; new revision {new}", target.number));
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
    fn target(&self, service: &mut Service<'_>, deployment: &Deployment) -> Result<Revision, Error> {
        if let Some(id) = self.revision()? {
            return service.call(async |client| client.revision(&deployment.id, id).await);
        }
        let revisions = service.call(async |client| client.revisions(&deployment.id, SEARCHED).await)?;
        let is_active = |revision: &Revision| Some(&revision.id) == deployment.active_revision_id.as_ref();
        let active = revisions.iter().position(is_active);
        let earlier = active.map_or(&[][..], |index| &revisions[index + 1..]);
        let found = earlier.iter().find(|revision| revision.status == RevisionStatus::Deployed);
        found.cloned().ok_or_else(|| no_revision(&deployment.name, None, &deployment.id))
    }
}

fn no_revision(name: &str, given: Option<&String>, id: &str) -> Error {
    let message = match given {
        Some(given) => format!("`{}` has no revision {}", visible_line(name), visible_line(given)),
        None => format!("`{}` has no earlier revision that was deployed", visible_line(name)),
    };
    Error::usage(message, format!("run `agentcli deploy revisions list {id}`, and name one with --to"))
}
