//! The output of containers.

use std::future::Future;

use bollard::query_parameters::LogsOptions;
use futures_util::{Stream, StreamExt as _};

use super::connect::Engine;
use super::error::Error;
use super::progress::printable;
use crate::live::{LineSender, Splitter};

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

    /// The last lines of a container, at most `count`.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn last_lines(&self, container: &str, count: usize) -> Result<Vec<String>, Error> {
        let mut pieces = self.output(container, LogsOptions { tail: count.to_string(), ..both_streams() });
        let read = async {
            let (mut splitter, mut lines) = (Splitter::default(), Vec::new());
            while let Some(piece) = pieces.next().await {
                lines.extend(splitter.split(&piece?));
            }
            lines.extend(splitter.finish());
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
        let pieces = self.docker.logs(container, Some(options));
        Box::pin(pieces.map(|piece| piece.map(|piece| piece.into_bytes().to_vec())))
    }
}

fn both_streams() -> LogsOptions {
    LogsOptions { stdout: true, stderr: true, ..Default::default() }
}
