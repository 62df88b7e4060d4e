//! `agentcli deploy`: the project to the deployment service, and what is there already.

mod delete;
mod get;
mod list;
mod logs;
mod repos;
mod revisions;
mod ship;
mod shown;
mod update;

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
#[allow(clippy::large_enum_variant, reason = "there is one, and it lives shortly")]
enum DeployCommand {
    List(list::List),
    Get(get::Get),
    Update(update::Update),
    Logs(logs::Logs),
    Revisions(revisions::Revisions),
    Repos(repos::Repos),
    Delete(delete::Delete),
}

impl Deploy {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self.command {
            Some(DeployCommand::List(list)) => list.run(env),
            Some(DeployCommand::Get(get)) => get.run(env),
            Some(DeployCommand::Update(update)) => update.run(env),
            Some(DeployCommand::Logs(logs)) => logs.run(env),
            Some(DeployCommand::Revisions(revisions)) => revisions.run(env),
            Some(DeployCommand::Repos(repos)) => repos.run(env),
            Some(DeployCommand::Delete(delete)) => delete.run(env),
            None => self.ship.run(env),
        }
    }
}
