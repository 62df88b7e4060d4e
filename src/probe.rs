//! Asking the server whether it is well.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::http;
pub use crate::api::http::Client;

/// How long one answer may take, and how long is waited before the next question.
const ANSWER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(15);

/// Asks in the background, whatever else happens meanwhile; ends with its owner.
pub struct Probe {
    task: JoinHandle<()>,
    answer: watch::Receiver<Option<String>>,
}

impl Probe {
    /// Begins to ask `url`.
    pub fn start(client: &Client, url: String) -> Self {
        let (sender, answer) = watch::channel(None);
        let client = client.clone();
        let task = tokio::spawn(async move { until_ok(&client, &url, &sender).await });
        Self { task, answer }
    }

    /// Waits until the server says that it is well. Can be given up and called again until it is done.
    pub async fn done(&mut self) {
        (&mut self.task).await.ok();
    }

    /// What the server answers instead.
    pub fn answer(&self) -> Option<String> {
        self.answer.borrow().clone()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks until the server says that it is well. What it answers instead is put into `answer`.
async fn until_ok(client: &Client, url: &str, answer: &watch::Sender<Option<String>>) {
    loop {
        let instead = match client.get(url).send().await {
            Ok(response) if response.status().is_success() => return,
            Ok(response) => Some(format!("it answers {}", response.status())),
            // Nobody listens as yet.
            Err(error) if error.is_connect() => None,
            Err(error) if error.is_timeout() => Some("it takes the question and does not answer".to_owned()),
            Err(_) => Some("its answer breaks off".to_owned()),
        };
        if instead.is_some() {
            answer.send_replace(instead);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What asks. The server is this machine's own, so that its certificate need not be known to anybody.
///
/// # Errors
///
/// Why there is none.
pub fn client() -> Result<Client, String> {
    let client = http::builder().tls_danger_accept_invalid_certs(true).no_proxy().timeout(ANSWER);
    client.build().map_err(|error| error.to_string())
}
