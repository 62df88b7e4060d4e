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

impl Cluster {
    /// The logs of all pods that run the user's code, pod by pod: since a time in ISO 8601, and the last lines of each pod.
    /// Each line starts with its time.
    ///
    /// # Errors
    ///
    /// The user may not read them, or the cluster cannot be reached.
    pub async fn logs(
        &self,
        name: &str,
        revision: Option<&str>,
        since: Option<&str>,
        limit: Option<u32>,
    ) -> Result<String, Error> {
        let mut selector = format!("{INSTANCE}={name},{COMPONENT} in ({SERVERS})");
        if let Some(revision) = revision {
            selector += &format!(",{REVISION}={revision}");
        }
        let tail = limit.map_or_else(|| "--tail=-1".to_owned(), |limit| format!("--tail={limit}"));
        let since = since.map(|since| format!("--since-time={since}"));
        let mut arguments =
            vec!["logs", "-l", &selector, "--timestamps", "--ignore-errors", "--max-log-requests=100", &tail];
        arguments.extend(since.as_deref());
        self.kubectl.run(&arguments, "").await
    }

    /// Forwards a free port of this machine to the server, as long as it can. `ready` gets its URL.
    ///
    /// # Errors
    ///
    /// No pod of the server is ready, or the connection ends.
    pub async fn forward(&self, name: &str, mut ready: impl FnMut(String)) -> Result<(), Error> {
        let service = format!("service/{name}");
        let arguments = ["port-forward", &service, ":80"];
        let mut child = Child::start(&self.kubectl.command(&arguments), GRACE).map_err(Kubectl::missing)?;
        loop {
            let failed =
                |error| Kind::Failed.error(format!("cannot read from kubectl: {error}"), "try again");
            let lines = match child.next().await.map_err(failed)? {
                Next::Lines(lines) => lines,
                Next::Ended(status) if status.is_success() => return Ok(()),
                Next::Ended(_) => return Err(Kubectl::failure(&arguments, &child.last_lines().join("\n"))),
            };
            let address = lines.iter().find_map(|line| line.strip_prefix("Forwarding from 127.0.0.1:"));
            if let Some(port) = address.and_then(|rest| rest.split(' ').next()) {
                ready(format!("http://127.0.0.1:{port}"));
            }
        }
    }
}
