//! `agentcli guard`, which this program starts its children with.

use std::ffi::OsString;
use std::time::Duration;

use crate::child;
use crate::cli::env::Env;
use crate::error::Error;

#[derive(Debug, clap::Args)]
pub(crate) struct Guard {
    /// How long the command has to end once it is asked to, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 5000)]
    grace: u64,

    /// Pass stdin on to the command
    #[arg(long)]
    input: bool,

    /// The command
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Guard {
    pub(super) fn run(self, _: &mut Env) -> Result<(), Error> {
        let failed = |source| Error::Guard { source };
        let grace = Duration::from_millis(self.grace);
        match child::guard(&self.command, grace, self.input).map_err(failed)? {
            0 => Ok(()),
            code => Err(Error::Child { code }),
        }
    }
}
