//! The HTTP client of the program.

pub use reqwest::{Client, Error, Response, Result, Url};

/// A builder of clients.
pub fn builder() -> reqwest::ClientBuilder {
    // It may be installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder()
}

/// The body of a response; `None` if it is larger than `limit` bytes.
///
/// # Errors
///
/// The connection broke or took too long.
pub async fn body_up_to(limit: usize, mut response: Response) -> Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
