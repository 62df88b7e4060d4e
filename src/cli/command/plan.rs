//! `agentcli plan`

use crate::cli::compile::PlanOptions;
use crate::cli::env::Env;
use crate::error::Error;

/// Print what a build would do, as JSON
///
/// The plan holds every decision: the server and its image, the build context, the steps in order, and what the
/// server reads from its environment. Values of `env` are not part of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    options: PlanOptions,
}

impl Plan {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.options.plan(env)?;
        let text = serde_json::to_string_pretty(&planned.plan)
            .map_err(|error| Error::Internal(error.to_string()))?;
        Ok(env.out.write(&format!("{text}\n"))?)
    }
}
