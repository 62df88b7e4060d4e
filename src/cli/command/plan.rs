//! `agentcli plan`

use crate::cli::agent_lock;
use crate::cli::compile::PlanOptions;
use crate::cli::env::Env;
use crate::error::Error;

#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    options: PlanOptions,
}

impl Plan {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.options.plan_image(env, agent_lock::ByDefault::Never)?;
        let text = serde_json::to_string_pretty(&planned.plan)
            .map_err(|error| Error::Internal(error.to_string()))?;
        Ok(env.out.line(&text)?)
    }
}
