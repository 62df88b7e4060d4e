//! `agentcli deploy delete`

use serde_json::json;

use super::shown::{print_json, title};
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::error::Error;

/// Delete a deployment
#[derive(Debug, clap::Args)]
pub(super) struct Delete {
    /// ID of the deployment
    #[arg(value_name = "DEPLOYMENT_ID")]
    id: String,

    /// Skip the confirmation prompt
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    options: CallOptions,
}

impl Delete {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let mut service = Service::new(env, &self.options.account)?;
        let found = service.call(async |client| client.deployment(&self.id).await)?;
        let title = title(&found);
        if !self.force {
            service.confirm(&format!("Delete the deployment {title}?"), "--force")?;
        }
        service.call(async |client| client.delete(&self.id).await)?;
        if self.options.json {
            return print_json(env, &json!({ "deleted": found.id, "name": found.name }));
        }
        env.print(&format!("deleted {}", crate::cli::console::visible_line(&title)));
        Ok(())
    }
}
