//! `agentcli deploy restart`

use std::time::Duration;

use serde_json::json;

use super::cluster::ClusterOptions;
use super::shown::{print_json, title};
use super::which::Which;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
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
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut target, before) = self.which.find(env, cluster, &self.options.account)?;
        let title = visible_line(&title(&before));
        let Some(active) = &before.active_revision_id else {
            let list = format!("agentcli deploy revisions list {}{}", before.id, target.options());
            let message = format!("{title} has no active revision");
            return Err(Error::usage(message, format!("see its revisions with `{list}`")));
        };
        target.confirm(&format!("Restart {title}?"), self.yes)?;
        let new = target.redeploy(&before, active, Duration::from_secs(self.timeout))?;
        if self.options.json {
            let result = json!({ "restarted": before.id, "name": before.name, "new_revision": new });
            return print_json(target.env(), &result);
        }
        target.env().print(&format!("restarted {title}; new revision {new}"));
        Ok(())
    }
}
