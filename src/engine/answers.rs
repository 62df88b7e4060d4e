//! What the engine tells while it works: one JSON document after the other.

use std::future::ready;

use bollard::errors::Error;
use futures_util::{Stream, StreamExt as _};

/// What tokio-util says of bytes that are left when a stream of messages ends.
const REMAINDER: &str = "bytes remaining on stream";

/// The answers without the error that bollard 0.21 makes of the line end behind the last one where that arrives by
/// itself (its pull request 733 mends it). It hides no loss: that the connection broke is another error, and what is
/// to come of a build or a push is looked for among the answers.
pub(super) fn whole<T>(
    answers: impl Stream<Item = Result<T, Error>>,
) -> impl Stream<Item = Result<T, Error>> {
    answers.take_while(|answer| ready(!answer.as_ref().is_err_and(is_remainder)))
}

fn is_remainder(error: &Error) -> bool {
    matches!(error, Error::IOError { err } if err.to_string() == REMAINDER)
}
