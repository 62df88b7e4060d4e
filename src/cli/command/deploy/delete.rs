//! `agentcli deploy delete`

use serde_json::json;

use super::cluster::InCluster;
use super::shown::{print_json, title};
use super::which::Which;
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
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (mut service, found) = self.which.find(env, &self.options.account)?;
        let title = title(&found);
        if !self.yes {
            service.confirm(&format!("Delete the deployment {title}?"), "--yes")?;
        }
        service.call(async |client| client.delete(&found.id).await)?;
        if self.options.json {
            return print_json(service.env, &json!({ "deleted": found.id, "name": found.name }));
        }
        service.env.print(&format!("deleted {}", crate::cli::console::visible_line(&title)));
        Ok(())
    }

    pub(super) fn run_in(self, mut cluster: InCluster<'_>) -> Result<(), Error> {
        let name = cluster.find(&self.which)?.name;
        let volumes = if self.volumes { " and its volumes" } else { "" };
        let question = format!("Delete the deployment `{name}`{volumes} in {}?", cluster.cluster.title());
        cluster.confirm(&question, self.yes)?;
        cluster.call(async |cluster| cluster.delete(&name, self.volumes).await)?;
        if self.options.json {
            return print_json(cluster.env, &json!({ "deleted": name, "name": name }));
        }
        cluster.env.print(&format!("deleted `{name}`{volumes}"));
        Ok(())
    }
}
