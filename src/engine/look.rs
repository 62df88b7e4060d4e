//! Looking into a container.

use std::time::Duration;

use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::connect::Engine;

impl Engine {
    /// Whether `command`, a program and its arguments, succeeds in a running container within `patience`. What cannot be
    /// run there does not.
    pub async fn succeeds_in(&self, container: &str, command: &[String], patience: Duration) -> bool {
        timeout(patience, self.run_in(container, command)).await.ok().flatten() == Some(0)
    }

    /// The exit code.
    async fn run_in(&self, container: &str, command: &[String]) -> Option<i64> {
        // Attached, for its output ends with it.
        let config = ExecConfig {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..Default::default()
        };
        let id = self.docker.create_exec(container, config).await.ok()?.id;
        if let StartExecResults::Attached { mut output, .. } = self.docker.start_exec(&id, None).await.ok()? {
            while output.next().await.is_some() {}
        }
        self.docker.inspect_exec(&id).await.ok()?.exit_code
    }
}
