//! The HTTP client of the program.

use std::net::IpAddr;

use super::failure::innermost;

pub use reqwest::{Client, ClientBuilder, Error, Method, Response, Result, Url, header, redirect};

/// A builder of clients.
pub fn builder() -> ClientBuilder {
    // It may be installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder()
}

/// Builds a client. The error is a fragment: mostly that there are no certificates of authorities.
pub fn build(builder: ClientBuilder) -> std::result::Result<Client, String> {
    builder.build().map_err(|error| {
        let reason = innermost(&error);
        // rustls calls every other error unexpected.
        let reason = reason.strip_prefix("unexpected error: ").unwrap_or(&reason);
        reason.replacen("No CA", "no CA", 1)
    })
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

/// Why a request failed, as a fragment without addresses.
pub fn reason(error: &Error) -> String {
    innermost(error)
}

/// Whether the server of `url` is on this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
