//! Commands in running containers.

use std::pin::pin;
use std::time::Duration;

use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::connect::Engine;
use super::error::Error;

/// Maximum length of the output of a command that is kept, in bytes.
const MAX_OUTPUT: usize = 64 * 1024;

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code.
    pub code: i64,
    /// The beginning of its output, at most 64 KiB.
    pub output: String,
}

impl Engine {
    /// Runs `command`, a program and its arguments, in a running container, with further environment variables.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects, or the command does not end within `limit`, in which case it goes on.
    pub async fn run_in(
        &self,
        container: &str,
        command: &[String],
        environment: &[(String, String)],
        limit: Duration,
    ) -> Result<Ended, Error> {
        let what = format!("run a command in the container `{container}`");
        // The end of the attached output is the end of the command.
        let config = ExecConfig {
            cmd: Some(command.to_vec()),
            env: Some(environment.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
        let run = async {
            let id = self.call(&what, self.docker.create_exec(container, config)).await?.id;
            let (docker, allowance) = self.streaming();
            let started = self.call(&what, docker.start_exec(&id, None)).await?;
            let mut printed = Vec::new();
            if let StartExecResults::Attached { output, .. } = started {
                let mut output = pin!(allowance.of_each(output));
                while let Some(piece) = output.next().await {
                    let piece = piece.map(|piece| piece.into_bytes()).unwrap_or_default();
                    printed.extend(piece.iter().take(MAX_OUTPUT.saturating_sub(printed.len())));
                }
            }
            let ended = self.call(&what, self.docker.inspect_exec(&id)).await?;
            let output = String::from_utf8_lossy(&printed).into_owned();
            // An engine that does not know the code has lost the command.
            Ok(Ended { code: ended.exit_code.unwrap_or(-1), output })
        };
        let late = || Error::Timeout { host: self.endpoint.host.clone(), what: what.clone(), after: limit };
        timeout(limit, run).await.unwrap_or_else(|_| Err(late()))
    }

    /// Whether `command` exits with 0 in a running container within `limit`.
    pub async fn succeeds_in(&self, container: &str, command: &[String], limit: Duration) -> bool {
        self.run_in(container, command, &[], limit).await.is_ok_and(|ended| ended.code == 0)
    }
}
