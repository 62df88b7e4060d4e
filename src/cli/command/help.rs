//! `agentcli help`

use std::ffi::OsString;

use crate::cli::env::Env;
use crate::cli::show_help;
use crate::error::Error;

#[derive(Debug, clap::Args)]
pub(crate) struct Help {
    /// The command, such as `build` or `deploy logs` [default: all commands]
    #[arg(value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Help {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        show_help(env, self.command)
    }
}
