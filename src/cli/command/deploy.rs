//! `agentcli deploy`: the project to the deployment service, and what is there already.

mod ship;

use crate::cli::env::Env;
use crate::error::Error;

/// Build the server, push it, and create or update a deployment
///
/// With a subcommand, look at deployments and change them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Deploy {
    #[command(subcommand)]
    command: Option<DeployCommand>,

    #[command(flatten)]
    ship: ship::Ship,
}

#[derive(Debug, clap::Subcommand)]
enum DeployCommand {}

impl Deploy {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self.command {
            Some(command) => match command {},
            None => self.ship.run(env),
        }
    }
}
