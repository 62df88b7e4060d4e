//! `agentcli deploy delete`

use serde_json::json;

use super::cluster::ClusterOptions;
use super::shown::{print_json, title};
use super::which::Which;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::error::Error;

/// Delete a deployment
#[derive(Debug, clap::Args)]
#[command(visible_alias = "rm")]
pub(super) struct Delete {
    #[command(flatten)]
    which: Which,

    /// Skip the confirmation prompt
    #[arg(short, long, alias = "force")]
    yes: bool,

    /// Delete the volumes in the cluster, too, with the data of the databases
    #[arg(long)]
    volumes: bool,

    #[command(flatten)]
    options: CallOptions,
}

impl Delete {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut target, found) = self.which.find(env, cluster, &self.options.account)?;
        let volumes = if self.volumes { " and its volumes" } else { "" };
        let title = visible_line(&title(&found)) + volumes;
        target.confirm(&format!("Delete the deployment {title}{}?", target.place()), self.yes)?;
        target.delete(&found, self.volumes)?;
        if self.options.json {
            return print_json(target.env(), &json!({ "deleted": found.id, "name": found.name }));
        }
        target.env().print(&format!("deleted {title}"));
        Ok(())
    }
}
