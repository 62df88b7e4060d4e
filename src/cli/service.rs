//! The deployment service, as the commands call it.

use std::path::Path;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::account::AccountOptions;
use super::ask;
use super::console::{NOTE, say};
use super::env::Env;
use crate::api::wire::Deployment;
use crate::api::{self, Client};
use crate::error::Error;
use crate::ship::{self, Hooks, Request};

/// The service and the runtime of its calls.
pub(super) struct Service {
    runtime: Runtime,
    service: ship::Service,
}

impl Service {
    /// The service of the project of `config`, or else of the current directory. Nothing is sent yet.
    pub(super) fn new(env: &mut Env, options: &AccountOptions, config: Option<&Path>) -> Result<Self, Error> {
        let runtime = env.runtime()?;
        let account = options.resolve(env, config, &runtime)?;
        let service = ship::Service::new(account, env.retry_policy, env.stop.clone())?;
        Ok(Self { runtime, service })
    }

    /// Deploys a project.
    pub(super) fn deploy(self, request: &Request, hooks: &mut impl Hooks) -> Result<(), Error> {
        let done = self.runtime.block_on(ship::run(request, self.service, hooks));
        // The threads of name resolution cannot be interrupted.
        self.runtime.shutdown_background();
        Ok(done?)
    }

    /// Calls the service.
    pub(super) fn call<T>(
        &mut self,
        env: &mut Env,
        call: impl AsyncFnOnce(&Client) -> Result<T, api::Error>,
    ) -> Result<T, Error> {
        let calling = self.service.call(call, |note| say(env, NOTE, "note", &note));
        Ok(self.runtime.block_on(calling)?)
    }

    /// Waits for `duration`.
    pub(super) fn pause(&mut self, duration: Duration) -> Result<(), Error> {
        let stop = self.service.stop();
        Ok(self.runtime.block_on(stop.unless_asked(async { tokio::time::sleep(duration).await }))?)
    }

    /// Asks the user to confirm a change; without a terminal, `option` confirms it.
    pub(super) fn confirm(&mut self, env: &mut Env, question: &str, option: &str) -> Result<(), Error> {
        if !env.can_ask() {
            return Err(Error::Usage {
                message: "this needs confirmation, and stdin is not a terminal".to_owned(),
                hint: Some(format!("pass {option}")),
            });
        }
        confirm(env, &self.runtime, question)
    }

    /// The deployment of exactly this name.
    pub(super) fn deployment_named(&mut self, env: &mut Env, name: &str) -> Result<Deployment, Error> {
        let found = self.call(env, async |client| client.find_by_name(name).await)?;
        Ok(found.ok_or_else(|| api::Error::NoDeployment { name: name.to_owned() })?)
    }
}

/// Asks the user a question, to which the default answer is no.
pub(super) fn confirm(env: &mut Env, runtime: &Runtime, question: &str) -> Result<(), Error> {
    let answer = ask::confirm(env, question, false);
    if runtime.block_on(env.stop.unless_asked(answer))? { Ok(()) } else { Err(Error::Declined) }
}
