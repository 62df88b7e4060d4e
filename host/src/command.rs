//! The command line of `agentcli-host`, which is also `agentcli host`.

mod data;
mod down;
mod keys;
mod serve;
mod tenants;

use agentcli::cli::env::Env;
use agentcli::cli::{self, Global, Program};
use agentcli::error::Error;
use clap::Parser;

/// Runs a deployment service for agent servers.
#[derive(Debug, Parser)]
#[command(name = "agentcli-host", bin_name = "agentcli host", version = cli::VERSION)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: Global,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[allow(missing_docs, reason = "documented in its file")]
    Keys(keys::Keys),
    #[allow(missing_docs, reason = "documented in its file")]
    Tenants(tenants::Tenants),
    #[allow(missing_docs, reason = "documented in its file")]
    Serve(Box<serve::Serve>),
    Down(down::Down),
    Check(data::Check),
    Backup(data::Backup),
    Restore(data::Restore),
}

impl Program for Arguments {
    fn global(&self) -> &Global {
        &self.global
    }

    fn run(self, env: &mut Env) -> Result<(), Error> {
        match self.command {
            Command::Keys(keys) => keys.run(env),
            Command::Tenants(tenants) => tenants.run(env),
            Command::Serve(serve) => serve.run(env),
            Command::Down(down) => down.run(env),
            Command::Check(check) => check.run(env),
            Command::Backup(backup) => backup.run(env),
            Command::Restore(restore) => restore.run(env),
        }
    }
}

/// Does what the command line asks for; the answer is the exit code (see [`agentcli::error`]).
pub fn run(env: &mut Env) -> u8 {
    cli::run_program::<Arguments>(env)
}
