//! `agentcli host tenants`

use agentcli::cli::env::Env;
use agentcli::error::Error;

use super::data;
use super::keys::Data;
use crate::service;
use crate::store::quota::Quota;

/// Manage the quotas of the tenants, also while the service runs
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Tenants {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the quotas of all tenants, with the amounts in use
    List {
        #[command(flatten)]
        data: Data,
    },
    /// Set quotas of a tenant
    #[command(after_help = "\
The quotas are deployments, replicas, uploads, upload-bytes, image-bytes and log-bytes.

Examples:
  agentcli host tenants set team-a deployments=500 replicas=500 --data data
  agentcli host tenants set team-a image-bytes=default --data data")]
    Set {
        #[command(flatten)]
        data: Data,

        /// Name of the tenant, from `tenants list`
        #[arg(value_name = "TENANT")]
        tenant: String,

        /// Quota and its amount; `default` for the usual amount
        #[arg(value_name = "QUOTA=AMOUNT", required = true, value_parser = setting)]
        quotas: Vec<(Quota, Option<u64>)>,
    },
}

fn setting(text: &str) -> Result<(Quota, Option<u64>), String> {
    let (name, amount) = text.split_once('=').ok_or("it is not QUOTA=AMOUNT")?;
    let known = || Quota::ALL.map(Quota::name).join(", ");
    let quota = Quota::named(name).ok_or_else(|| format!("the quotas are {}", known()))?;
    if amount == "default" {
        return Ok((quota, None));
    }
    let amount = amount.parse().map_err(|_| format!("`{amount}` is neither a number nor `default`"))?;
    Ok((quota, Some(amount)))
}

impl Tenants {
    pub(crate) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self.command {
            Command::List { data } => {
                for it in data::open(env, data.path())?.quotas().map_err(service::Error::from)? {
                    let name = it.quota.name();
                    let used = it.used;
                    let most = it.most;
                    env.out.line(&format!("{}  {name}  {used} of {most}", it.tenant))?;
                }
                Ok(())
            }
            Command::Set { data, tenant, quotas } => {
                let store = data::open(env, data.path())?;
                let runtime = env.runtime()?;
                for (quota, most) in quotas {
                    let set = runtime.block_on(store.set_quota(&tenant, quota, most));
                    if !set.map_err(service::Error::from)? {
                        return Err(Error::usage(
                            format!("there is no tenant `{tenant}`"),
                            "run `agentcli host tenants list`",
                        ));
                    }
                }
                Ok(())
            }
        }
    }
}
