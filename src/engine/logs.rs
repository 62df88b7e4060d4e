//! What containers print.

use std::pin::Pin;

use bollard::query_parameters::LogsOptions;
use futures_util::{Stream, StreamExt as _};

use super::connect::Engine;
use super::error::Error;
use super::progress::printable;

/// The lines of one container as they come, without control characters.
pub struct Lines {
    pieces: Pin<Box<dyn Stream<Item = Result<Vec<u8>, bollard::errors::Error>> + Send>>,
    /// What has come of a line that is not whole.
    rest: Vec<u8>,
}

impl Engine {
    /// Follows what a container prints from its last start on (`since`, in seconds of Unix time; 0 for all there is).
    pub fn follow(&self, name: &str, since: i32) -> Lines {
        self.lines(name, LogsOptions { follow: true, since, tail: "all".to_owned(), ..printed() })
    }

    /// The last lines that a container printed, at most `count`.
    ///
    /// # Errors
    ///
    /// The engine refuses, or is gone.
    pub async fn last_lines(&self, name: &str, count: usize) -> Result<Vec<String>, Error> {
        let mut lines = self.lines(name, LogsOptions { tail: count.to_string(), ..printed() });
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(line.map_err(|error| self.failed(&format!("tell what `{name}` printed"), error))?);
        }
        Ok(all)
    }

    fn lines(&self, name: &str, options: LogsOptions) -> Lines {
        let pieces = self.docker.logs(name, Some(options));
        let pieces = pieces.map(|piece| piece.map(|piece| piece.into_bytes().to_vec()));
        Lines { pieces: Box::pin(pieces), rest: Vec::new() }
    }
}

impl Lines {
    /// The next line; nothing when the container has ended, or the engine is gone. Can be given up and called again.
    pub async fn line(&mut self) -> Option<String> {
        self.next().await?.ok()
    }

    async fn next(&mut self) -> Option<Result<String, bollard::errors::Error>> {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(Ok(printable(&String::from_utf8_lossy(&line))));
            }
            match self.pieces.next().await {
                Some(Ok(piece)) => self.rest.extend(piece),
                Some(Err(error)) => return Some(Err(error)),
                None if self.rest.is_empty() => return None,
                None => self.rest.push(b'\n'),
            }
        }
    }
}

fn printed() -> LogsOptions {
    LogsOptions { stdout: true, stderr: true, ..Default::default() }
}
