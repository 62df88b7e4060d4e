//! The deployment service as a command talks to it: what takes long is told, and Ctrl-C ends it.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::account::AccountOptions;
use super::ask::confirm;
use super::console::{NOTE, paint, visible_line};
use super::env::Env;
use crate::api::wire::Deployment;
use crate::api::{self, Call, Client};
use crate::error::Error;

/// The service, and the runtime that calls run in.
pub(super) struct Service {
    client: Client,
    runtime: Runtime,
    /// What the client tells while it works.
    notes: UnboundedReceiver<String>,
}

impl Service {
    /// Finds out which service is meant, for the project of `config` where there is one. Nothing is sent as yet.
    pub(super) fn new(env: &mut Env, options: &AccountOptions, config: Option<&Path>) -> Result<Self, Error> {
        let runtime = env.runtime()?;
        let account = options.resolve(env, config, &runtime)?;
        let (sender, notes) = unbounded_channel();
        let client = Client::new(account)?.with_patience(env.patience).telling(move |note| {
            // Nobody listens where the command is over.
            sender.send(note).ok();
        });
        Ok(Self { client, runtime, notes })
    }

    /// Calls the service.
    pub(super) fn ask<T>(
        &mut self,
        env: &mut Env,
        call: impl AsyncFnOnce(&Client) -> Result<T, api::Error>,
    ) -> Result<T, Error> {
        let Self { client, runtime, notes } = self;
        let mut stopped = pin!(env.stop.asked());
        runtime.block_on(async {
            let mut call = pin!(call(client));
            loop {
                tokio::select! {
                    biased;
                    () = &mut stopped => return Err(Error::Interrupted),
                    Some(note) = notes.recv() => {
                        env.tell(&format!("{}: {}", paint(&env.err, NOTE, "note"), visible_line(&note)));
                    }
                    answer = &mut call => return Ok(answer?),
                }
            }
        })
    }

    /// Waits.
    pub(super) fn pause(&mut self, env: &mut Env, duration: Duration) -> Result<(), Error> {
        self.ask(env, async |_| {
            tokio::time::sleep(duration).await;
            Ok(())
        })
    }

    /// Whether the user agrees; `option` is how to agree where nobody can be asked.
    pub(super) fn confirm(&mut self, env: &mut Env, question: &str, option: &str) -> Result<bool, Error> {
        if !env.err.is_terminal {
            return Err(Error::Usage {
                message: "nobody can be asked here whether this is meant".to_owned(),
                hint: Some(format!("say that it is with {option}")),
            });
        }
        let answer = confirm(env, question, false);
        self.ask(env, async |_| Ok(answer.await))
    }

    /// The deployment of exactly this name.
    pub(super) fn named(&mut self, env: &mut Env, name: &str) -> Result<Deployment, Error> {
        let found = self.ask(env, async |client| client.find_by_name(name).await)?;
        let missing = || api::Error::NotFound {
            call: Call { method: "GET".to_owned(), path: "/v2/deployments".to_owned() },
            detail: format!("there is no deployment named `{name}`"),
        };
        Ok(found.ok_or_else(missing)?)
    }
}

/// Asks the user a question, to which the default answer is no.
pub(super) fn ask(env: &mut Env, runtime: &Runtime, question: &str) -> Result<bool, Error> {
    let answer = confirm(env, question, false);
    Ok(runtime.block_on(env.stop.unless_asked(answer))?)
}
