//! Streams of responses of the engine: a sequence of JSON documents.

use std::future::ready;

use bollard::errors::Error;
use futures_util::{Stream, StreamExt as _};

/// The error of tokio-util about bytes after the last message of a stream.
const REMAINDER: &str = "bytes remaining on stream";

/// Ends the stream at an error about remaining bytes. Bollard 0.21 reports one for the line end after the last message if
/// it arrives in a packet of its own (fixed by its pull request 733). This hides no loss: a broken connection is another
/// error, and a build or a push needs an image ID or a digest among the responses.
pub(super) fn whole<T>(
    answers: impl Stream<Item = Result<T, Error>>,
) -> impl Stream<Item = Result<T, Error>> {
    answers.take_while(|answer| ready(!answer.as_ref().is_err_and(is_remainder)))
}

fn is_remainder(error: &Error) -> bool {
    matches!(error, Error::IOError { err } if err.to_string() == REMAINDER)
}
