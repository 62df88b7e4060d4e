//! Asking the server whether it is well.

use std::time::Duration;

use reqwest::Client;

/// How long one answer may take, and how long is waited before the next question.
const ANSWER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(15);

/// Asks until the server says that it is well. What it answers instead is kept in `answer`.
pub(super) async fn until_ok(client: &Client, url: &str, answer: &mut Option<String>) {
    loop {
        match client.get(url).send().await {
            Ok(response) if response.status().is_success() => return,
            Ok(response) => *answer = Some(format!("it answers {}", response.status())),
            // Nobody listens as yet.
            Err(error) if error.is_connect() => {}
            Err(error) if error.is_timeout() => {
                *answer = Some("it takes the question and does not answer".to_owned())
            }
            Err(_) => *answer = Some("its answer breaks off".to_owned()),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What asks. The server is this machine's own, so that its certificate need not be known to anybody.
pub(super) fn client() -> Result<Client, String> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = Client::builder().tls_danger_accept_invalid_certs(true).no_proxy().timeout(ANSWER);
    client.build().map_err(|error| error.to_string())
}
