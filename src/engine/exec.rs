//! Commands in running containers.

use std::time::Duration;

use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::connect::Engine;
use super::error::Error;

impl Engine {
    /// Whether `command`, a program and its arguments, exits with 0 in a running container within `limit`.
    pub async fn succeeds_in(&self, container: &str, command: &[String], limit: Duration) -> bool {
        matches!(timeout(limit, self.exec(container, command)).await, Ok(Ok(Some(0))))
    }

    /// Runs `command` to its end; returns its exit code.
    async fn exec(&self, container: &str, command: &[String]) -> Result<Option<i64>, Error> {
        let what = format!("run a command in the container `{container}`");
        // The end of the attached output is the end of the command.
        let config = ExecConfig {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
        let id = self.call(&what, self.docker.create_exec(container, config)).await?.id;
        let started = self.call(&what, self.docker.start_exec(&id, None)).await?;
        if let StartExecResults::Attached { mut output, .. } = started {
            while output.next().await.is_some() {}
        }
        Ok(self.call(&what, self.docker.inspect_exec(&id)).await?.exit_code)
    }
}
