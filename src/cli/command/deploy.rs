//! `agentcli deploy`: deploys the project, and manages deployments.

mod agent;
mod cluster;
mod confirmation;
mod delete;
mod external;
mod get;
mod given;
mod list;
mod listeners;
mod login;
mod logs;
mod open;
mod repos;
mod restart;
mod revisions;
mod rollback;
mod saved;
mod secrets;
mod ship;
mod shown;
mod target;
mod update;
mod which;

use cluster::ClusterOptions;
pub(in crate::cli) use cluster::check_options;
pub(super) use cluster::{KUBERNETES, kubectl_variables};
pub(super) use saved::Saved;

use crate::cli::env::Env;
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Deploy {
    #[command(subcommand)]
    command: Option<Box<DeployCommand>>,

    #[command(flatten)]
    ship: Box<ship::Ship>,

    // The last: its heading applies to all options after it.
    #[command(flatten)]
    cluster: ClusterOptions,
}

#[derive(Debug, clap::Subcommand)]
enum DeployCommand {
    List(list::List),
    Get(get::Get),
    Update(update::Update),
    Logs(logs::Logs),
    #[command(subcommand)]
    Revisions(revisions::Revisions),
    Rollback(rollback::Rollback),
    Restart(restart::Restart),
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    Open(open::Open),
    #[command(subcommand)]
    Listeners(listeners::Listeners),
    Repos(repos::Repos),
    Delete(delete::Delete),
    Login(login::Login),
    Logout(login::Logout),
}

impl Deploy {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self.command {
            None if self.cluster.is_meant() => self.ship.run_in(env, &self.cluster),
            None => self.ship.run(env),
            Some(command) => command.run(env, &self.cluster),
        }
    }
}

/// The names of the subcommands.
fn commands() -> Vec<String> {
    let all = <DeployCommand as clap::Subcommand>::augment_subcommands(clap::Command::new("deploy"));
    all.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

impl DeployCommand {
    fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run(env, cluster),
            Self::Get(get) => get.run(env, cluster),
            Self::Update(update) => update.run(env, cluster),
            Self::Logs(logs) => logs.run(env, cluster),
            Self::Revisions(revisions) => revisions.run(env, cluster),
            Self::Rollback(rollback) => rollback.run(env, cluster),
            Self::Restart(restart) => restart.run(env, cluster),
            Self::Secrets(secrets) => secrets.run(env, cluster),
            Self::Open(open) => open.run(env, cluster),
            Self::Delete(delete) => delete.run(env, cluster),
            _ if cluster.is_meant() => {
                let message = "this command is about a deployment service, not about a cluster";
                Err(Error::usage(message, "leave out --to kubernetes"))
            }
            Self::Listeners(listeners) => listeners.run(env),
            Self::Repos(repos) => repos.run(env),
            Self::Login(login) => login.run(env),
            Self::Logout(logout) => logout.run(env),
        }
    }
}
