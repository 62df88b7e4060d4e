//! Archives: streamed to where the service says, without the key.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use reqwest::{Body, Url};
use tokio::sync::mpsc;

use super::failure::{Failure, Kind, Secrets};
use super::transport::origin;
use super::wire::UploadUrl;
use super::{Call, Error};

/// How much is read at a time, in bytes, and how many of these wait to be sent.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 8;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(100);

/// How large an archive may be where the service sends no headers of its own: the header that its storage then wants.
const RANGE: (&str, &str) = ("x-goog-content-length-range", "0,209715200");

/// What is uploaded: it is read anew for every attempt.
pub struct Archive<'a> {
    /// In bytes.
    pub length: u64,
    /// Begins to read at the start.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn Read + Send>>,
}

/// What both the sender and the watcher know.
#[derive(Clone, Default)]
struct Shared {
    /// How many bytes were handed on.
    sent: Arc<AtomicU64>,
    /// Why the archive could not be read.
    unreadable: Arc<Mutex<Option<io::Error>>>,
}

/// Uploads once. It fails when for `stall` nothing goes on, or when it takes longer than `limit`.
pub(super) async fn attempt(
    http: &reqwest::Client,
    target: &UploadUrl,
    archive: &Archive<'_>,
    progress: &mut dyn FnMut(u64),
    stall: Duration,
    limit: Duration,
) -> Result<(), Failure> {
    let sent = send(http, target, archive, progress, stall);
    let late = |_| Err(Failure::new(Kind::Unknown, Error::Deadline { call: call(), patience: limit }));
    tokio::time::timeout(limit, sent).await.unwrap_or_else(late)
}

/// The path is as secret as the rest of the address.
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
    let unreadable = |error| Failure::new(Kind::Refused, Error::Archive(error));
    let shared = Shared::default();
    let headers = headers(target, archive.length)
        .ok_or_else(|| Failure::malformed(&asked(), "an upload header is not valid in HTTP"))?;
    let body = body((archive.open)().map_err(unreadable)?, shared.clone());
    let request = http.put(url).headers(headers);
    let answered = watched(request.body(body).send(), &shared.sent, progress, stall).await;
    if let Some(error) = shared.unreadable.lock().ok().and_then(|mut error| error.take()) {
        return Err(unreadable(error));
    }
    let response = match answered {
        None => return Err(Failure::new(Kind::Unknown, Error::Deadline { call, patience: stall })),
        Some(Err(error)) => return Err(Failure::of_transport(&call, &host, &error, stall)),
        Some(Ok(response)) => response,
    };
    let (status, headers) = (response.status(), response.headers().clone());
    if status.is_success() {
        progress(archive.length);
        return Ok(());
    }
    if matches!(status.as_u16(), 401 | 403) {
        // No key was sent: it is the address that is not, or no longer, good for it.
        let detail = "the upload address is invalid or has expired".to_owned();
        let error = Error::TryAgainLater { call, status: status.as_u16(), detail };
        return Err(Failure::new(Kind::Refused, error));
    }
    // What a storage says may name the address.
    Err(Failure::of_status(&call, status, &headers, b"", &Secrets::default()))
}

fn address(target: &UploadUrl) -> Result<Url, Failure> {
    match Url::parse(target.upload_url.expose()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(Failure::malformed(&asked(), "the upload address is not a URL")),
    }
}

/// The call that said where to upload.
fn asked() -> Call {
    Call { method: "POST".to_owned(), path: "upload-url".to_owned() }
}

/// What is sent with an archive of so many bytes: each header once, as the service says where it says something. Only
/// how the body is framed is not the service's to say.
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

/// Waits for the answer and tells progress meanwhile; nothing where for `stall` nothing went on.
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

/// Reads on a thread of its own, a few pieces ahead of what is sent.
fn body(mut archive: Box<dyn Read + Send>, shared: Shared) -> Body {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(CHUNKS);
    thread::spawn(move || {
        loop {
            let mut chunk = vec![0; CHUNK];
            let piece = match archive.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) => {
                    chunk.truncate(length);
                    Ok(Bytes::from(chunk))
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = piece.is_err();
            // Nobody receives where the attempt is over.
            if sender.blocking_send(piece).is_err() || is_last {
                return;
            }
        }
    });
    let pieces = stream::unfold((receiver, shared), |(mut receiver, shared)| async {
        let piece = match receiver.recv().await? {
            Ok(piece) => {
                shared.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Ok(piece)
            }
            Err(error) => {
                let told = io::Error::new(error.kind(), "cannot read the archive");
                if let Ok(mut unreadable) = shared.unreadable.lock() {
                    *unreadable = Some(error);
                }
                Err(told)
            }
        };
        Some((piece, (receiver, shared)))
    });
    Body::wrap_stream(pieces)
}
