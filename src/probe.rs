//! Readiness checks of a server over HTTP.

use std::future::pending;
use std::net::SocketAddr;
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
    /// Starts to request `url` until it is answered as a server that runs would, or `timeout` has passed. The milliseconds of
    /// [`Probe::outcome`] count from `since`.
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
        if ready {
            Ok(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX))
        } else {
            Err(self.answer.borrow().clone())
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

/// Longest version of a server, in bytes.
const VERSION: usize = 128;

/// Single requests to servers whose answers are not to be trusted: redirects are not followed.
pub struct Checker(http::Client);

impl Checker {
    /// Sets up the HTTP client. The error is a fragment.
    pub fn new() -> Result<Self, String> {
        http::build(builder().redirect(http::redirect::Policy::none())).map(Self)
    }

    /// Requests `path` of the server at `address` once, and returns whether it succeeds within the timeout of a request.
    pub async fn succeeds(&self, address: SocketAddr, path: &str) -> bool {
        self.get(address, path).await.is_some()
    }

    /// The `version` in the JSON object at `path`; `None` if there is none within the timeout of a request.
    pub async fn version(&self, address: SocketAddr, path: &str) -> Option<String> {
        let response = self.get(address, path).await?;
        let body = http::body_up_to(DESCRIPTION, response).await.ok()??;
        let description: Value = serde_json::from_slice(&body).ok()?;
        let version = description["version"].as_str()?;
        let is_plain = version.len() <= VERSION && !version.contains(char::is_control);
        is_plain.then(|| version.to_owned())
    }

    async fn get(&self, address: SocketAddr, path: &str) -> Option<http::Response> {
        let response = self.0.get(url(address, path)?).send().await.ok()?;
        response.status().is_success().then_some(response)
    }
}

/// Whether `path` is a path from the root and nothing else, so that a URL with it reaches no other server.
pub fn is_path(path: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "?#@\\".contains(c);
    path.starts_with('/') && !path.contains(is_odd)
}

/// The URL of a path of a server, which the path cannot change.
fn url(address: SocketAddr, path: &str) -> Option<http::Url> {
    let mut url = http::Url::parse(&format!("http://{address}")).ok()?;
    url.set_path(path);
    is_path(path).then_some(url)
}

/// The settings of a client for the user's own server, so that any certificate is accepted.
fn builder() -> http::ClientBuilder {
    http::builder().tls_danger_accept_invalid_certs(true).no_proxy().timeout(ANSWER)
}

/// Requests `url` until it succeeds. Puts other answers into `answer`.
async fn until_ok(url: &str, answer: &watch::Sender<Option<String>>) {
    let client = match http::build(builder()) {
        Ok(client) => client,
        Err(reason) => {
            answer.send_replace(Some(format!("the HTTP client cannot be set up: {reason}")));
            return pending().await;
        }
    };
    loop {
        let instead = match client.get(url).send().await {
            Ok(response) if is_ready(response.status()) => return,
            Ok(response) => Some(format!("it answers {}", response.status())),
            // Nothing listens yet, or the connection waits for a server that is starting.
            Err(error) if error.is_connect() || error.is_timeout() => None,
            Err(_) => Some("it closes the connection before it has answered".to_owned()),
        };
        if instead.is_some() {
            answer.send_replace(instead);
        }
        sleep(PAUSE).await;
    }
}

/// Whether a server that answers this runs. The project's own authentication may refuse the question.
fn is_ready(status: http::StatusCode) -> bool {
    status.is_success() || matches!(status, http::StatusCode::UNAUTHORIZED | http::StatusCode::FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_does_not_change_the_server() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8000));
        for path in ["/ok", "/a/b.c/ok", "//other:1/ok", "/../ok", "/%40x/ok", "/:1/ok"] {
            let url = url(address, path).unwrap();
            let host = (url.scheme(), url.host_str(), url.port(), url.username());
            assert_eq!(host, ("http", Some("127.0.0.1"), Some(8000), ""), "{path}");
            assert_eq!((url.query(), url.fragment()), (None, None), "{path}");
        }
        for path in [
            "",
            "ok",
            "@other:1/ok",
            ".other/ok",
            ":1/ok",
            "/@other/ok",
            "/x?y=/ok",
            "/#/ok",
            "/a b",
            "/\n",
            "/a\\b",
        ] {
            assert_eq!(url(address, path), None, "{path}");
        }
    }
}
