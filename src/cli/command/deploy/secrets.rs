//! `agentcli deploy secrets`

use serde_json::json;

use super::shown::print_json;
use super::which::Which;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::error::Error;

/// Show the secrets of a deployment
#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum Secrets {
    #[allow(missing_docs, reason = "documented in its struct")]
    List(List),
}

/// List the names of the secrets of a deployment
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
pub(super) struct List {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    options: CallOptions,
}

impl Secrets {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let Self::List(List { which, options }) = self;
        let (service, found) = which.find(env, &options.account)?;
        let names: Vec<&str> = found.secrets.iter().map(|secret| secret.name.as_str()).collect();
        if options.json {
            return print_json(service.env, &json!({ "secrets": names }));
        }
        names.iter().try_for_each(|name| Ok(service.env.out.line(&visible_line(name))?))
    }
}
