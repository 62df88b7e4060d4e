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
mod secrets;
mod ship;
mod shown;
mod update;
mod which;

pub(in crate::cli) use cluster::check_options;
use cluster::{ClusterOptions, InCluster};
pub(super) use cluster::{KUBERNETES, kubectl_variables};

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
        match (self.command, self.cluster.open(env)?) {
            (None, None) => self.ship.run(env),
            (None, Some(cluster)) => self.ship.run_in(cluster),
            (Some(command), None) => command.run(env),
            (Some(command), Some(cluster)) => command.run_in(cluster),
        }
    }
}

/// The names of the subcommands.
fn commands() -> Vec<String> {
    let all = <DeployCommand as clap::Subcommand>::augment_subcommands(clap::Command::new("deploy"));
    all.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

impl DeployCommand {
    /// Runs it on a cluster.
    fn run_in(self, cluster: InCluster<'_>) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run_in(cluster),
            Self::Get(get) => get.run_in(cluster),
            Self::Update(update) => update.run_in(cluster),
            Self::Logs(logs) => logs.run_in(cluster),
            Self::Revisions(revisions) => revisions.run_in(cluster),
            Self::Rollback(rollback) => rollback.run_in(cluster),
            Self::Restart(restart) => restart.run_in(cluster),
            Self::Secrets(secrets) => secrets.run_in(cluster),
            Self::Open(open) => open.run_in(cluster),
            Self::Delete(delete) => delete.run_in(cluster),
            Self::Listeners(_) | Self::Repos(_) | Self::Login(_) | Self::Logout(_) => {
                let message = "this command is about a deployment service, not about a cluster";
                Err(Error::usage(message, "leave out --to kubernetes"))
            }
        }
    }

    fn run(self, env: &mut Env) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run(env),
            Self::Get(get) => get.run(env),
            Self::Update(update) => update.run(env),
            Self::Logs(logs) => logs.run(env),
            Self::Revisions(revisions) => revisions.run(env),
            Self::Rollback(rollback) => rollback.run(env),
            Self::Restart(restart) => restart.run(env),
            Self::Secrets(secrets) => secrets.run(env),
            Self::Open(open) => open.run(env),
            Self::Listeners(listeners) => listeners.run(env),
            Self::Repos(repos) => repos.run(env),
            Self::Delete(delete) => delete.run(env),
            Self::Login(login) => login.run(env),
            Self::Logout(logout) => logout.run(env),
        }
    }
}
