//! Calls to the engine: their deadline, the errors of failed calls, and streams of responses.

use std::future::{Future, ready};
use std::time::Duration;

use bollard::errors::Error as Bollard;
use futures_util::{Stream, StreamExt as _};
use tokio::time::timeout;

use super::connect::{Engine, root_cause};
use super::error::Error;
use super::progress::cut;

/// Deadline of all calls except builds, pulls, pushes and logs.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

impl Engine {
    /// Calls the engine; `what` completes the sentence "the container engine did not …".
    pub(super) async fn call<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, Bollard>>,
    ) -> Result<T, Error> {
        self.call_within(DEADLINE, what, call).await
    }

    /// The same with another deadline.
    pub(super) async fn call_within<T>(
        &self,
        deadline: Duration,
        what: &str,
        call: impl Future<Output = Result<T, Bollard>>,
    ) -> Result<T, Error> {
        match timeout(deadline, call).await {
            Ok(done) => done.map_err(|error| self.failed(what, error)),
            Err(_) => Err(Error::Timeout {
                host: self.endpoint.host.clone(),
                what: what.to_owned(),
                after: deadline,
            }),
        }
    }

    /// The error of a failed call.
    pub(super) fn failed(&self, what: &str, error: Bollard) -> Error {
        let (status, reason) = match error {
            Bollard::DockerResponseServerError { status_code, message } => (status_code, message),
            Bollard::DockerStreamError { error } => (200, error),
            other => return Error::Gone { host: self.endpoint.host.clone(), reason: root_cause(&other) },
        };
        Error::Request { what: what.to_owned(), status, reason: cut(reason.trim()).to_owned() }
    }
}

/// Treats the refusals with one of these HTTP statuses as success.
pub(super) fn unless_status(done: Result<(), Error>, statuses: &[u16]) -> Result<(), Error> {
    match done {
        Err(Error::Request { status, .. }) if statuses.contains(&status) => Ok(()),
        done => done,
    }
}

/// The error of tokio-util about bytes after the last message of a stream.
const REMAINDER: &str = "bytes remaining on stream";

/// Ends the stream at an error about remaining bytes. Bollard 0.21 reports one for the line end after the last message if
/// it arrives in a packet of its own (fixed by its pull request 733). This hides no loss: a broken connection is another
/// error, and a build or a push needs an image ID or a digest among the responses.
pub(super) fn whole<T>(
    answers: impl Stream<Item = Result<T, Bollard>>,
) -> impl Stream<Item = Result<T, Bollard>> {
    let is_remainder =
        |error: &Bollard| matches!(error, Bollard::IOError { err } if err.to_string() == REMAINDER);
    answers.take_while(move |answer| ready(!answer.as_ref().is_err_and(is_remainder)))
}
