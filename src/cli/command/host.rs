//! `agentcli host`: hands over to the program of the package agentcli-host.

use std::ffi::OsString;
use std::io::ErrorKind;

use crate::child::{self, Command};
use crate::cli::env::Env;
use crate::error::Error;
use crate::project;

/// Name of the program.
const PROGRAM: &str = "agentcli-host";

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Host {
    /// Arguments of agentcli-host
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Host {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let command = Command::new(PROGRAM, &env.directory).arguments(self.arguments);
        match child::replace(command) {
            Ok(0) => Ok(()),
            Ok(code) => Err(Error::Child { code }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::Host {
                message: format!("cannot run `agentcli host`: the program {PROGRAM} is not installed"),
                hint: Some(
                    "run `cargo install --locked --path host` or `pip install ./host` in a clone of agentcli"
                        .to_owned(),
                ),
            }),
            Err(error) => Err(Error::Host {
                message: format!("cannot run {PROGRAM}: {}", project::reason(&error)),
                hint: None,
            }),
        }
    }
}
