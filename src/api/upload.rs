//! Uploads of archives, without the key.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use reqwest::{Body, Url};
use tokio::task::spawn_blocking;

use super::failure::{Failure, Outcome, Secrets};
use super::transport::origin;
use super::wire::UploadUrl;
use super::{Call, Error};

/// Size of a chunk in bytes.
const CHUNK: usize = 128 << 10;

/// Interval between progress reports.
const TICK: Duration = Duration::from_millis(100);

/// Header with the permitted sizes, which the storage requires if the service sends no upload headers.
const RANGE: (&str, &str) = ("x-goog-content-length-range", "0,209715200");

/// An archive to upload. Every attempt reads it from the start.
pub struct Archive<'a> {
    /// Size in bytes.
    pub length: u64,
    /// Opens it for reading.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn Read + Send>>,
}

/// State of an attempt.
#[derive(Clone, Default)]
struct Shared {
    /// Number of bytes sent.
    sent: Arc<AtomicU64>,
    /// The error if the archive cannot be read.
    unreadable: Arc<Mutex<Option<io::Error>>>,
}

/// Uploads once. Fails without progress for `stall`, or after `limit`.
pub(super) async fn attempt(
    http: &reqwest::Client,
    target: &UploadUrl,
    archive: &Archive<'_>,
    progress: &mut dyn FnMut(u64),
    stall: Duration,
    limit: Duration,
) -> Result<(), Failure> {
    let sent = send(http, target, archive, progress, stall);
    let late = |_| Err(Failure::new(Outcome::Unknown, Error::Deadline { call: call(), after: limit }));
    tokio::time::timeout(limit, sent).await.unwrap_or_else(late)
}

/// The call as it is reported: the path is secret.
fn call() -> Call {
    Call { method: "PUT".to_owned(), path: "upload address".to_owned() }
}

async fn send(
    http: &reqwest::Client,
    target: &UploadUrl,
    archive: &Archive<'_>,
    progress: &mut dyn FnMut(u64),
    stall: Duration,
) -> Result<(), Failure> {
    let call = call();
    let url = address(target)?;
    let host = origin(&url);
    let unreadable = |error| Failure::new(Outcome::Refused, Error::Archive(error));
    let shared = Shared::default();
    let headers = headers(target, archive.length)
        .ok_or_else(|| Failure::malformed(&address_call(), "an upload header is not valid in HTTP"))?;
    let body = body((archive.open)().map_err(unreadable)?, shared.clone());
    let request = http.put(url).headers(headers);
    let answered = watched(request.body(body).send(), &shared.sent, progress, stall).await;
    if let Some(error) = shared.unreadable.lock().ok().and_then(|mut error| error.take()) {
        return Err(unreadable(error));
    }
    let response = match answered {
        None => return Err(Failure::new(Outcome::Unknown, Error::Deadline { call, after: stall })),
        Some(Err(error)) => return Err(Failure::from_transport(&call, &host, &error, stall)),
        Some(Ok(response)) => response,
    };
    let (status, headers) = (response.status(), response.headers().clone());
    if status.is_success() {
        progress(archive.length);
        return Ok(());
    }
    if matches!(status.as_u16(), 401 | 403) {
        // No key was sent, so the address itself was refused.
        let detail = "the upload address is invalid or has expired".to_owned();
        let error = Error::TryAgainLater { call, status: status.as_u16(), detail };
        return Err(Failure::new(Outcome::Refused, error));
    }
    // The response of a storage may contain the address.
    Err(Failure::from_status(&call, status, &headers, b"", &Secrets::default()))
}

fn address(target: &UploadUrl) -> Result<Url, Failure> {
    match Url::parse(target.upload_url.expose()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(Failure::malformed(&address_call(), "the upload address is not a URL")),
    }
}

/// The call that returned the address.
fn address_call() -> Call {
    Call { method: "POST".to_owned(), path: "upload-url".to_owned() }
}

/// The headers of an upload of `length` bytes. Those of the service take precedence, except for the framing of the body.
fn headers(target: &UploadUrl, length: u64) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
    match &target.upload_headers {
        None => _ = headers.insert(RANGE.0, HeaderValue::from_static(RANGE.1)),
        Some(given) => {
            for (name, value) in given {
                let mut value = HeaderValue::from_str(value.expose()).ok()?;
                value.set_sensitive(true);
                headers.insert(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
            }
        }
    }
    [CONNECTION, HOST, TRANSFER_ENCODING].iter().for_each(|name| _ = headers.remove(name));
    headers.insert(CONTENT_LENGTH, length.into());
    Some(headers)
}

/// Waits for the response and reports progress; `None` without progress for `stall`.
async fn watched<T>(
    answer: impl Future<Output = T>,
    sent: &AtomicU64,
    progress: &mut dyn FnMut(u64),
    stall: Duration,
) -> Option<T> {
    let mut answer = std::pin::pin!(answer);
    let (mut last, mut moved) = (0, Instant::now());
    progress(0);
    loop {
        match tokio::time::timeout(TICK.min(stall), &mut answer).await {
            Ok(answer) => return Some(answer),
            Err(_) if sent.load(Ordering::Relaxed) != last => {
                (last, moved) = (sent.load(Ordering::Relaxed), Instant::now());
                progress(last);
            }
            Err(_) if moved.elapsed() >= stall => return None,
            Err(_) => {}
        }
    }
}

/// Reads the archive in chunks, on threads that may block.
fn body(archive: Box<dyn Read + Send>, shared: Shared) -> Body {
    Body::wrap_stream(stream::try_unfold(archive, move |mut archive| {
        let shared = shared.clone();
        async move {
            let read = spawn_blocking(move || {
                let mut chunk = vec![0; CHUNK];
                let length = archive.read(&mut chunk)?;
                chunk.truncate(length);
                Ok((chunk, archive))
            });
            match read.await.map_err(io::Error::other).flatten() {
                Ok((chunk, _)) if chunk.is_empty() => Ok(None),
                Ok((chunk, archive)) => {
                    shared.sent.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                    Ok(Some((Bytes::from(chunk), archive)))
                }
                Err(error) => {
                    let shown = io::Error::new(error.kind(), "cannot read the archive");
                    if let Ok(mut unreadable) = shared.unreadable.lock() {
                        *unreadable = Some(error);
                    }
                    Err(shown)
                }
            }
        }
    }))
}
