//! `agentcli deploy` itself.

use crate::cli::account::AccountOptions;
use crate::cli::env::Env;
use crate::error::Error;

/// What `agentcli deploy` takes; its help text stands in the parent.
#[derive(Debug, clap::Args)]
pub(super) struct Ship {
    #[command(flatten)]
    account: AccountOptions,
}

impl Ship {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        self.account.resolve(env, None)?;
        Err(Error::Usage { message: "nothing can be deployed as yet".to_owned(), hint: None })
    }
}
