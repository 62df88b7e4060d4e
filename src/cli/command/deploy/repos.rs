//! `agentcli deploy repos`

use serde_json::json;

use super::shown::{print_json, print_table};
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::error::Error;

/// List the repositories of a code host integration
#[derive(Debug, clap::Args)]
pub(super) struct Repos {
    /// ID of the integration
    #[arg(value_name = "INTEGRATION_ID")]
    integration_id: String,

    #[command(flatten)]
    options: CallOptions,
}

impl Repos {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let mut service = Service::new(env, &self.options.account)?;
        let found = service.call(async |client| client.repositories(&self.integration_id).await)?;
        if self.options.json {
            return print_json(env, &json!({ "repositories": found }));
        }
        let row = |it: &crate::api::wire::Repository| {
            vec![it.owner.clone(), it.name.clone(), it.default_branch.clone(), it.url.clone()]
        };
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        print_table(env, "repositories", &["OWNER", "NAME", "BRANCH", "URL"], &rows)
    }
}
