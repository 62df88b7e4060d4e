//! Readiness checks of a server over HTTP.

use std::future::pending;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::api::http;

/// Timeout of one request, and the pause before the next.
const ANSWER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(15);

/// The readiness check of a server that is starting. It runs in the background until it is dropped.
pub struct Probe {
    task: JoinHandle<()>,
    answer: watch::Receiver<Option<String>>,
    since: Instant,
    deadline: Option<Instant>,
}

impl Probe {
    /// Starts to request `url` until it succeeds or `timeout` has passed. The milliseconds of [`Probe::outcome`] count
    /// from `since`.
    pub fn start(url: String, since: Instant, timeout: Option<Duration>) -> Self {
        let (sender, answer) = watch::channel(None);
        let task = tokio::spawn(async move { until_ok(&url, &sender).await });
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        Self { task, answer, since, deadline }
    }

    /// Waits until the server is ready, and returns the milliseconds that it took. Cancel safe; not to be called again
    /// afterwards.
    ///
    /// # Errors
    ///
    /// The timeout has passed. The server answered this instead, if anything, as a fragment.
    pub async fn outcome(&mut self) -> Result<u64, Option<String>> {
        let ready = match self.deadline {
            Some(deadline) => timeout_at(deadline, &mut self.task).await.is_ok(),
            None => (&mut self.task).await.is_ok(),
        };
        match ready {
            true => Ok(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)),
            false => Err(self.answer.borrow().clone()),
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Maximum size of the description of a server, in bytes.
const DESCRIPTION: usize = 64 << 10;

/// Single requests to a server.
pub struct Checker(http::Client);

impl Checker {
    /// Sets up the HTTP client. The error is a fragment.
    pub fn new() -> Result<Self, String> {
        client().map(Self)
    }

    /// Requests `url` once, and returns whether it succeeds within the timeout of a request.
    pub async fn succeeds(&self, url: &str) -> bool {
        self.0.get(url).send().await.is_ok_and(|response| response.status().is_success())
    }

    /// The `version` in the JSON object at `url`; `None` if there is none within the timeout of a request.
    pub async fn version(&self, url: &str) -> Option<String> {
        let response = self.0.get(url).send().await.and_then(http::Response::error_for_status).ok()?;
        let body = http::body_up_to(DESCRIPTION, response).await.ok()??;
        let description: Value = serde_json::from_slice(&body).ok()?;
        description["version"].as_str().map(str::to_owned)
    }
}

/// A client for the user's own server, so that any certificate is accepted.
fn client() -> Result<http::Client, String> {
    http::build(http::builder().tls_danger_accept_invalid_certs(true).no_proxy().timeout(ANSWER))
}

/// Requests `url` until it succeeds. Puts other answers into `answer`.
async fn until_ok(url: &str, answer: &watch::Sender<Option<String>>) {
    let client = match client() {
        Ok(client) => client,
        Err(reason) => {
            answer.send_replace(Some(format!("the HTTP client cannot be set up: {reason}")));
            return pending().await;
        }
    };
    loop {
        let instead = match client.get(url).send().await {
            Ok(response) if response.status().is_success() => return,
            Ok(response) => Some(format!("it answers {}", response.status())),
            // Nothing listens yet.
            Err(error) if error.is_connect() => None,
            Err(error) if error.is_timeout() => {
                Some("it accepts the connection but does not answer".to_owned())
            }
            Err(_) => Some("it closes the connection before it has answered".to_owned()),
        };
        if instead.is_some() {
            answer.send_replace(instead);
        }
        sleep(PAUSE).await;
    }
}
