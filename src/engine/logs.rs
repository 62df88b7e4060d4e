//! The output of containers.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;

use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptions;
use futures_util::{Stream, StreamExt as _};
use jiff::Timestamp;

use super::connect::Engine;
use super::error::Error;
use super::progress::printable;
use crate::live::{LineSender, Splitter};

/// Nanoseconds of a second.
const NANOSECONDS: i64 = 1_000_000_000;

impl Engine {
    /// Sends the lines of a container, without control characters, as those of `source`, until the container exits, the
    /// engine disconnects or nobody reads. `since`, in seconds of Unix time, leaves out older ones; 0 leaves out none.
    pub fn follow(
        &self,
        container: &str,
        since: i32,
        source: String,
        lines: LineSender<String>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let options = LogsOptions { follow: true, since, tail: "all".to_owned(), ..both_streams() };
        let mut pieces = self.output(container, options);
        async move {
            let mut splitter = Splitter::default();
            while let Some(Ok(piece)) = pieces.next().await {
                for line in splitter.split(&piece) {
                    if lines.send((source.clone(), printable(&line))).await.is_err() {
                        return;
                    }
                }
            }
            if let Some(line) = splitter.finish() {
                lines.send((source, printable(&line))).await.ok();
            }
        }
    }

    /// Passes the lines of a container that the engine received after `after` to `line`, without control characters and
    /// with the time of each, until the container exits or the engine disconnects. Times are in nanoseconds since 1970.
    pub async fn follow_after(&self, container: &str, after: i64, mut line: impl FnMut(i64, String)) {
        let since = i32::try_from(after / NANOSECONDS).unwrap_or(i32::MAX);
        let options =
            LogsOptions { follow: true, since, tail: "all".to_owned(), timestamps: true, ..both_streams() };
        let (docker, allowance) = self.streaming();
        let mut pieces = pin!(allowance.of_each(docker.logs(container, Some(options))));
        let (mut stdout, mut stderr) = (Splitter::default(), Splitter::default());
        let mut latest = after;
        while let Some(Ok(piece)) = pieces.next().await {
            let is_error = matches!(piece, LogOutput::StdErr { .. });
            let bytes = piece.into_bytes();
            let (time, text) = timed(&bytes).unwrap_or((latest, &bytes));
            latest = time;
            let lines = if is_error { &mut stderr } else { &mut stdout }.split(text);
            // The engine only knows seconds.
            lines.iter().filter(|_| time > after).for_each(|text| line(time, printable(text)));
        }
        let rest = [stdout.finish(), stderr.finish()];
        rest.iter().flatten().filter(|_| latest > after).for_each(|text| line(latest, printable(text)));
    }

    /// The last lines of a container, at most `count`.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn last_lines(&self, container: &str, count: usize) -> Result<Vec<String>, Error> {
        let mut pieces = self.output(container, LogsOptions { tail: count.to_string(), ..both_streams() });
        let read = async {
            let mut splitter = Splitter::default();
            let mut lines = VecDeque::new();
            while let Some(piece) = pieces.next().await {
                lines.extend(splitter.split(&piece?));
                lines.drain(..lines.len().saturating_sub(count));
            }
            lines.extend(splitter.finish());
            lines.drain(..lines.len().saturating_sub(count));
            Ok(lines)
        };
        let lines = self.call(&format!("return the logs of `{container}`"), read).await?;
        Ok(lines.iter().map(|line| printable(line)).collect())
    }

    fn output(
        &self,
        container: &str,
        options: LogsOptions,
    ) -> impl Stream<Item = Result<Vec<u8>, bollard::errors::Error>> + Send + Unpin + 'static {
        let (docker, allowance) = self.streaming();
        let pieces = allowance.of_each(docker.logs(container, Some(options)));
        Box::pin(pieces.map(|piece| piece.map(|piece| piece.into_bytes().to_vec())))
    }
}

/// The time before a piece of output, and the output.
fn timed(piece: &[u8]) -> Option<(i64, &[u8])> {
    let space = piece.iter().position(|byte| *byte == b' ')?;
    let time: Timestamp = std::str::from_utf8(&piece[..space]).ok()?.parse().ok()?;
    Some((i64::try_from(time.as_nanosecond()).ok()?, &piece[space + 1..]))
}

fn both_streams() -> LogsOptions {
    LogsOptions { stdout: true, stderr: true, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::timed;

    #[test]
    fn time_precedes_a_piece_of_output() {
        let piece = b"2026-01-02T03:04:05.000000006Z two words\n";
        assert_eq!(timed(piece), Some((1_767_323_045_000_000_006, &b"two words\n"[..])));
        assert_eq!(timed(b"2026-01-02T03:04:05+01:00 \n").map(|it| it.1), Some(&b"\n"[..]));
        assert_eq!(timed(b"no time\n"), None);
    }
}
