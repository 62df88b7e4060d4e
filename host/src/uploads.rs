//! Uploaded archives, in a temporary directory that is removed with the service.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use tempfile::{NamedTempFile, TempDir};
use uuid::Uuid;

use super::answer::Refusal;
use super::query::{Ids, Query};
use super::transfer::ARCHIVE;
use super::{Shared, keys, lock};

/// Maximum size of an archive, in bytes.
pub const LARGEST_UPLOAD: u64 = 209_715_200;

/// Maximum numbers of archives and of open upload addresses of a deployment; the oldest are removed.
const KEPT: usize = 5;

/// Validity of an upload address.
const VALID: Duration = Duration::from_secs(3600);

/// Accepted content types.
const KINDS: [&str; 4] = [ARCHIVE, "application/x-gzip", "application/octet-stream", "application/tar+gzip"];

/// Archives and open upload addresses.
pub(super) struct Uploads {
    directory: TempDir,
    all: Mutex<Vec<Upload>>,
}

struct Upload {
    place: Place,
    deployment: String,
    made: Instant,
    /// The directory of archives; removed with this value.
    file: Option<Arc<NamedTempFile>>,
}

/// An upload address.
#[derive(Clone)]
pub(super) struct Place {
    /// UUID.
    pub(super) id: String,
    /// The token that permits the upload.
    pub(super) token: String,
    /// The path in revisions.
    pub(super) path: String,
}

impl Uploads {
    pub(super) fn new() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("agentcli-host-").tempdir()?;
        Ok(Self { directory, all: Mutex::default() })
    }

    /// Creates an upload address for a deployment. Archives whose paths are `in_use` are kept.
    pub(super) fn expect(&self, deployment: &str, in_use: &[String]) -> Place {
        let id = Uuid::new_v4().to_string();
        let path = format!("uploads/{deployment}/{id}.tar.gz");
        let place = Place { id, token: keys::token(), path };
        let mut all = lock(&self.all);
        // Counted separately, so that aborted uploads remove no archive.
        for has_file in [false, true] {
            let is_one =
                |upload: &Upload| upload.deployment == deployment && upload.file.is_some() == has_file;
            let can_go = |upload: &Upload| is_one(upload) && !in_use.contains(&upload.place.path);
            while all.iter().filter(|upload| is_one(upload)).count() >= KEPT
                && let Some(oldest) = all.iter().position(can_go)
            {
                all.remove(oldest);
            }
        }
        all.push(Upload {
            place: place.clone(),
            deployment: deployment.to_owned(),
            made: Instant::now(),
            file: None,
        });
        place
    }

    /// Checks that `path` is an uploaded archive of this deployment.
    pub(super) fn check(&self, deployment: &str, path: Option<&str>) -> Result<(), Refusal> {
        let Some(path) = path else { return Ok(()) };
        let all = lock(&self.all);
        let of = |upload: &&Upload| upload.place.path == path && upload.deployment == deployment;
        let reason = match all.iter().find(of) {
            Some(Upload { file: Some(_), .. }) => return Ok(()),
            Some(_) => "nothing was uploaded there",
            None => "it is no object_path of this deployment",
        };
        Err(Refusal::bad(format!("source_revision_config.source_tarball_path cannot be used: {reason}.")))
    }

    /// The archive at `path`.
    pub(super) fn open(&self, path: &str) -> io::Result<File> {
        let all = lock(&self.all);
        let file =
            all.iter().find(|upload| upload.place.path == path).and_then(|upload| upload.file.as_ref());
        file.ok_or(io::ErrorKind::NotFound)?.reopen()
    }

    /// Removes the archives of a deployment.
    pub(super) fn forget(&self, deployment: &str) {
        lock(&self.all).retain(|upload| upload.deployment != deployment);
    }

    fn may_put(&self, id: &str, token: &str) -> bool {
        let all = lock(&self.all);
        let upload = all.iter().find(|upload| upload.place.id == id);
        upload.is_some_and(|upload| keys::same(&upload.place.token, token) && upload.made.elapsed() < VALID)
    }

    /// Adds an uploaded archive; a second upload replaces the first.
    fn keep(&self, id: &str, file: NamedTempFile) {
        if let Some(upload) = lock(&self.all).iter_mut().find(|upload| upload.place.id == id) {
            upload.file = Some(Arc::new(file));
        }
    }
}

/// `PUT /v2/uploads/{upload_id}?token=…`
pub(super) async fn put(
    State(shared): State<Arc<Shared>>,
    ids: Ids,
    uri: Uri,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    let id = ids.get("upload_id");
    if !shared.uploads.may_put(id, &Query::parse(&uri).text("token").unwrap_or_default()) {
        let detail = "The address of the upload is not valid, or not any more.".to_owned();
        return Err(Refusal::Plain(StatusCode::FORBIDDEN, detail));
    }
    let length = length(&headers)?;
    let file = NamedTempFile::new_in(shared.uploads.directory.path()).map_err(|error| full(&error))?;
    let file = receive(request.into_body(), file, length, shared.options.limits.piece).await?;
    shared.uploads.keep(id, file);
    Ok(StatusCode::OK.into_response())
}

/// The Content-Length of the archive.
fn length(headers: &HeaderMap) -> Result<u64, Refusal> {
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or(ARCHIVE);
    if !KINDS.contains(&kind) {
        let detail = format!("The archive must be {ARCHIVE}.");
        return Err(Refusal::Plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    match text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()) {
        None => Err(Refusal::Plain(StatusCode::LENGTH_REQUIRED, "Content-Length is required.".to_owned())),
        Some(length) if length > LARGEST_UPLOAD => {
            let detail = format!("The archive has {length} bytes; it may have {LARGEST_UPLOAD} at most.");
            Err(Refusal::Plain(StatusCode::PAYLOAD_TOO_LARGE, detail))
        }
        Some(length) => Ok(length),
    }
}

async fn receive(
    body: Body,
    mut file: NamedTempFile,
    length: u64,
    patience: Duration,
) -> Result<NamedTempFile, Refusal> {
    let mut pieces = body.into_data_stream();
    let mut received = 0;
    loop {
        let piece = tokio::time::timeout(patience, pieces.next()).await.map_err(|_| {
            Refusal::Plain(StatusCode::REQUEST_TIMEOUT, "The archive takes too long.".to_owned())
        })?;
        match piece {
            None => break,
            Some(Err(_)) => return Err(Refusal::bad("The archive broke off.")),
            Some(Ok(piece)) => {
                received += piece.len() as u64;
                // Blocking is fine: chunks are small, and writes are buffered by the system.
                file.write_all(&piece).map_err(|error| full(&error))?;
            }
        }
    }
    if received != length {
        return Err(Refusal::bad(format!("The archive has {received} bytes, and not {length}.")));
    }
    Ok(file)
}

fn full(error: &io::Error) -> Refusal {
    let detail = format!("The archive cannot be kept: {error}.");
    Refusal::Plain(StatusCode::INSUFFICIENT_STORAGE, detail)
}
