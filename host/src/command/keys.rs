//! `agentcli host keys`

use std::path::{Path, PathBuf};

use agentcli::cli::env::Env;
use agentcli::error::Error;

use super::data;
use crate::net::keys::token;
use crate::service;
use crate::store::{DEFAULT_TENANT, Store};

/// Manage the API keys of the service, also while it runs
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a key and print it, only once
    #[command(after_help = "\
Examples:
  export AGENT_HOST_API_KEY=$(agentcli host keys create --data data)
  agentcli host keys create --data data --tenant team-a")]
    Create {
        #[command(flatten)]
        data: Data,

        /// Owner of the deployments that the key gives access to; created if there is none of this name
        #[arg(long, value_name = "NAME", default_value = DEFAULT_TENANT)]
        tenant: String,
    },
    /// List the keys by ID
    List {
        #[command(flatten)]
        data: Data,
    },
    /// Revoke a key
    Revoke {
        #[command(flatten)]
        data: Data,

        /// ID of the key, from `keys list`
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Data {
    /// Data directory; `keys create` creates it if it does not exist
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,
}

impl Data {
    pub(super) fn path(&self) -> &Path {
        &self.data
    }

    fn open(&self, env: &Env) -> Result<Store, Error> {
        Ok(Store::attach(&env.directory.join(&self.data)).map_err(service::Error::from)?)
    }
}

impl Keys {
    pub(crate) fn run(self, env: &mut Env) -> Result<(), Error> {
        let runtime = env.runtime()?;
        match self.command {
            Command::Create { data, tenant } => {
                let key = token();
                runtime.block_on(data.open(env)?.add_key(&tenant, &key)).map_err(service::Error::from)?;
                Ok(env.out.line(&key)?)
            }
            Command::List { data } => {
                for key in data::open(env, &data.data)?.keys().map_err(service::Error::from)? {
                    env.out.line(&format!("{}  {}  {}", key.id, key.created_at, key.tenant))?;
                }
                Ok(())
            }
            Command::Revoke { data, id } => {
                let revoked = runtime.block_on(data::open(env, &data.data)?.revoke_key(&id));
                if revoked.map_err(service::Error::from)? {
                    Ok(())
                } else {
                    Err(Error::usage(
                        format!("there is no key with the ID `{id}`"),
                        "run `agentcli host keys list`",
                    ))
                }
            }
        }
    }
}
