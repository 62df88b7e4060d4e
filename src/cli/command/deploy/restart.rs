//! `agentcli deploy restart`

use std::time::Duration;

use serde_json::json;

use super::cluster::InCluster;
use super::shown::{print_json, title};
use super::which::Which;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::cluster::Change;
use crate::error::Error;

/// Deploy the active revision of a deployment again
///
/// The service starts it as a new revision, with the present secrets, and stops the old servers afterwards.
#[derive(Debug, clap::Args)]
pub(super) struct Restart {
    #[command(flatten)]
    which: Which,

    /// Timeout for the new revision to be deployed, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,

    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    options: CallOptions,
}

impl Restart {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (mut service, before) = self.which.find(env, &self.options.account)?;
        let title = visible_line(&title(&before));
        let Some(active) = &before.active_revision_id else {
            let hint = format!("see its revisions with `agentcli deploy revisions list {}`", before.id);
            return Err(Error::usage(format!("{title} has no active revision"), hint));
        };
        if !self.yes {
            service.confirm(&format!("Restart {title}?"), "--yes")?;
        }
        let after = service.call(async |client| client.redeploy(&before, active).await)?;
        let new = after.latest_revision_id.unwrap_or_default();
        service.wait_for_revision(&before, &new, Duration::from_secs(self.timeout))?;
        if self.options.json {
            let result = json!({ "restarted": before.id, "name": before.name, "new_revision": new });
            return print_json(service.env, &result);
        }
        service.env.print(&format!("restarted {title}; new revision {new}"));
        Ok(())
    }

    pub(super) fn run_in(self, mut cluster: InCluster<'_>) -> Result<(), Error> {
        let found = cluster.find(&self.which)?;
        let name = found.name.clone();
        let Some(active) = found.active() else {
            let hint =
                format!("see its revisions with `agentcli deploy revisions list {name} --to kubernetes`");
            return Err(Error::usage(format!("`{name}` has no active revision"), hint));
        };
        cluster.confirm(&format!("Restart `{name}`?"), self.yes)?;
        let timeout = Some(Duration::from_secs(self.timeout));
        let change = Change { is_forced: true, ..cluster.again(&found, active.record.clone(), timeout) };
        let new = cluster.revise(found, change)?.to_string();
        if self.options.json {
            let result = json!({ "restarted": name, "name": name, "new_revision": new });
            return print_json(cluster.env, &result);
        }
        cluster.env.print(&format!("restarted `{name}`; new revision {new}"));
        Ok(())
    }
}
