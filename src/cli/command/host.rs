//! `agentcli host`: a deployment service on this machine.

mod serve;

use crate::cli::env::Env;
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Host {
    #[command(subcommand)]
    command: HostCommand,
}

#[derive(Debug, clap::Subcommand)]
enum HostCommand {
    #[allow(missing_docs, reason = "documented in its file")]
    Serve(serve::Serve),
}

impl Host {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self.command {
            HostCommand::Serve(serve) => serve.run(env),
        }
    }
}
