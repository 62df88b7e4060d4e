//! The HTTP client of this room, also for the deployment service of our own.

pub use reqwest::{Client, Error, Response, Result, Url};

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
