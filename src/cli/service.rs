//! The deployment service, as the commands call it.

use std::time::{Duration, Instant};

use super::account::AccountOptions;
use super::ask;
use super::console::{NOTE, note, say};
use super::env::Env;
use super::runtime::Runtime;
use super::settings::Settings;
use crate::api::wire::{Deployment, RevisionStatus};
use crate::api::{self, Client, rules};
use crate::error::Error;
use crate::ship;

/// The options of the commands that print a record of the service.
#[derive(Debug, clap::Args)]
pub(super) struct CallOptions {
    /// Print the result as JSON (`agentcli schema deploy`)
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) account: AccountOptions,
}

/// The service, the runtime of its calls, and the environment that their notes are printed to.
pub(super) struct Service<'a> {
    pub(super) env: &'a mut Env,
    pub(super) runtime: Runtime,
    pub(super) service: ship::Service,
    /// The address and where it is set, if that is the project.
    own_address: Option<String>,
}

impl<'a> Service<'a> {
    /// The service of the current directory. Nothing is sent yet.
    pub(super) fn new(env: &'a mut Env, options: &AccountOptions) -> Result<Self, Error> {
        let mut settings = Settings::beside(env, None);
        Self::with(env, options, &mut settings)
    }

    /// The service with these settings. Nothing is sent yet.
    pub(super) fn with(
        env: &'a mut Env,
        options: &AccountOptions,
        settings: &mut Settings,
    ) -> Result<Self, Error> {
        let runtime = env.runtime()?;
        let account = options.resolve(env, settings, &runtime)?;
        let service = ship::Service::new(account, env.retry_policy, env.stop.clone())?;
        Ok(Self { env, runtime, service, own_address: settings.own_service.clone() })
    }

    /// Calls the service.
    pub(super) fn call<T>(
        &mut self,
        call: impl AsyncFnOnce(&Client) -> Result<T, api::Error>,
    ) -> Result<T, Error> {
        let calling = self.service.call(call, |note| say(self.env, NOTE, "note", &note));
        Ok(self.runtime.block_on(calling)?)
    }

    /// Waits until the service is to be queried again.
    pub(super) fn pause(&self) -> Result<(), Error> {
        let pause = async { tokio::time::sleep(self.env.retry_policy.poll).await };
        Ok(self.runtime.block_on(self.env.stop.unless_asked(pause))?)
    }

    /// Asks whether a service that the project chose gets this, with `secrets`; without a terminal, an address that the user
    /// passes is the answer.
    pub(super) fn confirm_address<'s>(
        &mut self,
        what: &str,
        secrets: impl Iterator<Item = &'s str>,
    ) -> Result<(), Error> {
        let Some(address) = self.own_address.clone() else { return Ok(()) };
        let mut sent = what.to_owned();
        let names: Vec<&str> = secrets.collect();
        if !names.is_empty() {
            sent += &format!(" with the secrets {}", names.join(", "));
        }
        if !self.env.can_ask() {
            let message = format!("refusing to send {sent} to {address}: the project sets the address");
            let hint =
                "if you trust this address, pass it with --host-url or set AGENT_HOST_URL in the environment";
            return Err(Error::usage(message, hint));
        }
        let question = format!("The project sets the address {address}. Send {sent} there?");
        ask::confirm_or_decline(self.env, &self.runtime, &question)
    }

    /// The deployment with this ID or name.
    pub(super) fn deployment(&mut self, which: &str) -> Result<Deployment, Error> {
        if rules::id(which, "a deployment").is_ok() {
            self.call(async |client| client.deployment(which).await)
        } else {
            self.deployment_named(which)
        }
    }

    /// Waits until the revision `id` is deployed.
    pub(super) fn wait_for_revision(
        &mut self,
        deployment: &Deployment,
        id: &str,
        timeout: Duration,
    ) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            let revision = self.call(async |client| client.revision(&deployment.id, id).await)?;
            let status = revision.status.clone();
            if status == RevisionStatus::Deployed {
                return Ok(());
            }
            if status.is_final() {
                let now = self.call(async |client| client.deployment(&deployment.id).await)?;
                if let Some(serving) = ship::serving_instead(&now, &revision) {
                    let serving = self.call(async |client| client.revision(&now.id, serving).await)?;
                    note(self.env, &ship::still_serves(&now, &serving));
                }
                return Err(ship::failed(&now, &revision).into());
            }
            if start.elapsed() > timeout {
                let hint =
                    format!("see `agentcli deploy revisions list {}`, or raise --timeout", deployment.id);
                let message = format!("the new revision {id} is {status} after {} s", timeout.as_secs());
                return Err(Error::Ship(ship::Error::Pending { message, hint }));
            }
            self.pause()?;
        }
    }

    /// The deployment of exactly this name.
    pub(super) fn deployment_named(&mut self, name: &str) -> Result<Deployment, Error> {
        let found = self.call(async |client| client.find_by_name(name).await)?;
        Ok(found.ok_or_else(|| api::Error::NoDeployment { name: name.to_owned() })?)
    }
}
