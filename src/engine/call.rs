//! Calls to the engine: their deadline, and the errors of failed calls.

use std::future::Future;
use std::time::Duration;

use bollard::errors::Error as Bollard;
use tokio::time::timeout;

use super::connect::{Engine, root_cause};
use super::error::Error;

/// Deadline of all calls except builds, pulls, pushes and logs.
const DEADLINE: Duration = Duration::from_secs(30);

impl Engine {
    /// Calls the engine; `what` completes the sentence "the container engine did not …".
    pub(super) async fn call<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, Bollard>>,
    ) -> Result<T, Error> {
        match timeout(DEADLINE, call).await {
            Ok(done) => done.map_err(|error| self.failed(what, error)),
            Err(_) => Err(Error::Timeout { host: self.host.clone(), what: what.to_owned(), after: DEADLINE }),
        }
    }

    /// The error of a failed call.
    pub(super) fn failed(&self, what: &str, error: Bollard) -> Error {
        let (status, reason) = match error {
            Bollard::DockerResponseServerError { status_code, message } => (status_code, message),
            Bollard::DockerStreamError { error } => (200, error),
            other => return Error::Gone { host: self.host.clone(), reason: root_cause(&other) },
        };
        Error::Request { what: what.to_owned(), status, reason: reason.trim().to_owned() }
    }
}

/// Treats the refusals with one of these HTTP statuses as success.
pub(super) fn unless_status(done: Result<(), Error>, statuses: &[u16]) -> Result<(), Error> {
    match done {
        Err(Error::Request { status, .. }) if statuses.contains(&status) => Ok(()),
        done => done,
    }
}
