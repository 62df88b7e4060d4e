//! The deployment service, called by a command that can be stopped.

use std::pin::pin;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Error;
use crate::api::{self, Account, Client, RetryPolicy};
use crate::live::Stop;

/// A client that reports its retries and stops with the program.
pub struct Service {
    client: Client,
    notes: UnboundedReceiver<String>,
    /// Whether it is the public service.
    pub(super) is_public: bool,
    pub(super) stop: Stop,
}

impl Service {
    /// A client of `account`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The address or the key cannot be used.
    pub fn new(account: Account, policy: RetryPolicy, stop: Stop) -> Result<Self, Error> {
        let (sender, notes) = unbounded_channel();
        let is_public = account.is_of_public_service();
        let client = Client::new(account)?.with_retry_policy(policy).on_retry(move |note| {
            // The receiver is dropped when the command ends.
            sender.send(note).ok();
        });
        Ok(Self { client, notes, is_public, stop })
    }

    /// Calls the service. `note` gets the reason of every retry.
    ///
    /// # Errors
    ///
    /// Those of the call, and [`Error::Interrupted`].
    pub async fn call<T>(
        &mut self,
        call: impl AsyncFnOnce(&Client) -> Result<T, api::Error>,
        mut note: impl FnMut(String),
    ) -> Result<T, Error> {
        let Self { client, notes, stop, .. } = self;
        let calling = async {
            let mut call = pin!(call(client));
            loop {
                tokio::select! {
                    biased;
                    Some(message) = notes.recv() => note(message),
                    answer = &mut call => return answer,
                }
            }
        };
        Ok(stop.unless_asked(calling).await??)
    }
}
