//! `agentcli deploy login` and `agentcli deploy logout`

use crate::api::wire::Redacted;
use crate::api::{Account, DeploymentFilter, Vocabulary};
use crate::cli::account::HOST;
use crate::cli::ask;
use crate::cli::console::{note, visible_line, warn};
use crate::cli::env::Env;
use crate::cli::logins::{self, Logins};
use crate::error::Error;
use crate::ship;

/// Keep the address and the key of a deployment service
///
/// The key is read from the terminal without echo, or from stdin, and tried. It is kept with the address in
/// ~/.config/agentcli/services.json, which only you can read, and sent to that address only. All commands use the last service
/// unless options, the environment or .env name another; --host-url NAME chooses another one of these.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy login --host-url https://deploy.example
  agentcli host keys create --data data | agentcli deploy login local --host-url http://127.0.0.1:8900")]
pub(super) struct Login {
    /// Name of the service [default: the host of its address]
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Address of the deployment service [env: AGENT_HOST_URL] [default: that of NAME, to replace its key]
    #[arg(long, value_name = "URL")]
    host_url: Option<String>,
}

/// Forget the address and the key of a deployment service
#[derive(Debug, clap::Args)]
pub(super) struct Logout {
    /// Name of the service [default: the last one]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl Login {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let mut logins = Logins::load(env)?;
        let known = || Some(logins.named(Some(self.name.as_deref()?))?.1.url.clone());
        let url = self.host_url.clone().or_else(known).or_else(|| env.variable(HOST));
        let url = url.ok_or_else(|| {
            Error::usage(
                "no address of a deployment service is given",
                "pass --host-url, such as https://deploy.example",
            )
        })?;
        let host = url.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
        let host = host.filter(|host| !host.is_empty() && !host.contains('@')).ok_or_else(|| {
            Error::usage(
                "the address is not a URL without credentials",
                "pass one such as https://deploy.example",
            )
        })?;
        let name = self.name.clone().unwrap_or_else(|| host.to_owned());
        let runtime = env.runtime()?;
        let stop = env.stop.clone();
        let key = ask::secret(env, &format!("API key of {}: ", visible_line(host)));
        let key = runtime.block_on(stop.unless_asked(key))?.unwrap_or_default();
        let key = Redacted::new(key.trim());
        if key.expose().is_empty() {
            return Err(Error::usage("no API key was given", "type it, or pass it on stdin"));
        }
        let vocabulary = Vocabulary::for_address(&url);
        let account = Account { host: url.clone(), key: key.clone(), tenant: None, vocabulary };
        if account.is_unencrypted() {
            warn(env, "the API key is sent unencrypted; use an https:// address");
        }
        let mut service = ship::Service::new(account, env.retry_policy, stop)?;
        let filter = DeploymentFilter::default();
        let call = service
            .call(async |client| client.list_deployments(&filter, 1, 0).await, |text| note(env, &text));
        runtime.block_on(call)?;
        logins.add(name.clone(), logins::Login { url, key });
        logins.save(env)?;
        env.print(&format!("logged in to {}", visible_line(&name)));
        Ok(())
    }
}

impl Logout {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let mut logins = Logins::load(env)?;
        let name = self.name.or_else(|| logins.named(None).map(|(name, _)| name.clone()));
        let hint = "log in with `agentcli deploy login`";
        let name = name.ok_or_else(|| Error::usage("there is no default service", hint))?;
        if !logins.remove(&name) {
            return Err(Error::usage(format!("no service is named `{}`", visible_line(&name)), hint));
        }
        logins.save(env)?;
        env.print(&format!("logged out of {}", visible_line(&name)));
        Ok(())
    }
}
