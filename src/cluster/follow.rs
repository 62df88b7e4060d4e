//! Logs of pods, and a port of this machine that leads to them.

use std::time::Duration;

use super::error::Kind;
use super::kubectl::Kubectl;
use super::{COMPONENT, Cluster, Error, INSTANCE, REVISION};
use crate::child::{Child, Next};

/// The parts of a deployment that run the user's code.
const SERVERS: &str = "server, queue, orchestrator, executor";

/// Time for kubectl to end.
const GRACE: Duration = Duration::from_secs(2);

/// Which lines of a log are read.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// The revision [default: all].
    pub revision: Option<String>,
    /// Lines since this time, in ISO 8601.
    pub since: Option<String>,
    /// Number of last lines of each pod.
    pub limit: u32,
    /// Whether further lines are waited for.
    pub follow: bool,
}

impl Cluster {
    /// Reads the logs of all pods that run the user's code. Each line starts with its time.
    ///
    /// # Errors
    ///
    /// The user may not read them, or the cluster cannot be reached.
    pub async fn logs(&self, name: &str, query: &LogQuery, show: impl FnMut(String)) -> Result<(), Error> {
        let mut selector = format!("{INSTANCE}={name},{COMPONENT} in ({SERVERS})");
        if let Some(revision) = &query.revision {
            selector += &format!(",{REVISION}={revision}");
        }
        let tail = format!("--tail={}", query.limit);
        let mut arguments =
            vec!["logs", "-l", &selector, "--timestamps", "--ignore-errors", "--max-log-requests=100", &tail];
        let since = query.since.as_ref().map(|since| format!("--since-time={since}"));
        arguments.extend(since.as_deref());
        if query.follow {
            arguments.push("--follow");
        }
        self.stream(&arguments, show).await
    }

    /// Forwards a free port of this machine to the server, as long as it can. `ready` gets its URL.
    ///
    /// # Errors
    ///
    /// No pod of the server is ready, or the connection ends.
    pub async fn forward(&self, name: &str, mut ready: impl FnMut(String)) -> Result<(), Error> {
        let service = format!("service/{name}");
        self.stream(&["port-forward", &service, ":80"], |line| {
            let address =
                line.strip_prefix("Forwarding from 127.0.0.1:").and_then(|rest| rest.split(' ').next());
            if let Some(port) = address {
                ready(format!("http://127.0.0.1:{port}"));
            }
        })
        .await
    }

    async fn stream(&self, arguments: &[&str], mut show: impl FnMut(String)) -> Result<(), Error> {
        let command = self.kubectl.command(arguments);
        let mut child = Child::start(&command, GRACE).map_err(Kubectl::missing)?;
        loop {
            let failed =
                |error| Kind::Failed.error(format!("cannot read from kubectl: {error}"), "try again");
            match child.next().await.map_err(failed)? {
                Next::Lines(lines) => lines.into_iter().for_each(&mut show),
                Next::Ended(status) if status.is_success() => return Ok(()),
                Next::Ended(_) => return Err(Kubectl::failure(arguments, &child.last_lines().join("\n"))),
            }
        }
    }
}
