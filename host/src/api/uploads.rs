//! Uploads of archives.

use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use agentcli::project;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use tempfile::NamedTempFile;
use uuid::Uuid;

use super::answer::Refusal;
use super::query::{Ids, Query};
use super::receiving::replaced;
use super::shared::Shared;
use crate::net::keys;
use crate::store::persist::{persist, system_error};
use crate::store::quota::Quota;
use crate::store::{Store, Tx, archive_id, archive_path};

/// Maximum size of an archive, in bytes.
pub const LARGEST_UPLOAD: u64 = 209_715_200;

/// Content type of archives.
pub(super) const ARCHIVE: &str = "application/gzip";

/// Accepted content types.
const KINDS: [&str; 4] = [ARCHIVE, "application/x-gzip", "application/octet-stream", "application/tar+gzip"];

/// An upload address.
pub(super) struct Place {
    /// UUID.
    pub(super) id: String,
    /// The token that permits the upload.
    pub(super) token: String,
    /// The path in revisions.
    pub(super) path: String,
}

/// Creates an upload address for a deployment of a tenant.
pub(super) async fn expect(store: &Store, tenant: &str, deployment: &str) -> Result<Place, Refusal> {
    let (id, token) = (Uuid::new_v4().to_string(), keys::token());
    let path = archive_path(deployment, &id);
    let place = Place { id, token, path };
    let id = place.id.clone();
    let token = place.token.clone();
    let deployment = deployment.to_owned();
    let tenant = tenant.to_owned();
    let add = move |tx: &Tx<'_>| {
        let before = tx.used(&tenant, Quota::Uploads)?;
        let removed = tx.expect_upload(&deployment, &id, &token)?;
        match tx.exceeded(&tenant, Quota::Uploads, before)? {
            Some(exceeded) => Err(Refusal::from(exceeded)),
            None => Ok(removed),
        }
    };
    let removed = store.change(add).await?;
    for id in removed {
        fs::remove_file(store.archive(&id)).ok();
    }
    Ok(place)
}

/// Checks that `path` is an uploaded archive of this deployment.
pub(super) fn check(tx: &Tx<'_>, deployment: &str, path: Option<&str>) -> Result<(), Refusal> {
    let Some(path) = path else { return Ok(()) };
    let received = match archive_id(path).filter(|id| path == archive_path(deployment, id)) {
        Some(id) => tx.is_received(deployment, id)?,
        None => None,
    };
    let reason = match received {
        Some(true) => return Ok(()),
        Some(false) => "nothing was uploaded to it",
        None => "it is not an object_path of this deployment",
    };
    Err(Refusal::bad(format!("source_revision_config.source_tarball_path cannot be used: {reason}.")))
}

/// `PUT /v2/uploads/{upload_id}?token=…`
pub(super) async fn put(
    State(shared): State<Arc<Shared>>,
    ids: Ids,
    uri: Uri,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    let id = ids.get("upload_id").to_owned();
    let token = Query::parse(&uri).text("token").unwrap_or_default();
    let refused = || {
        let detail = "The upload URL is invalid, expired or already used by a revision.".to_owned();
        Refusal::Plain(StatusCode::FORBIDDEN, detail)
    };
    if !shared.store.read(|tx| tx.may_upload(&id, &token))? {
        return Err(refused());
    }
    let length = length(&headers)?;
    let _room = shared.receiving.reserve(&shared.store, &id, length)?;
    let (mut newer, place) = shared.receiving.begin(&id);
    let new = NamedTempFile::new_in(shared.store.uploads()).map_err(full)?;
    let new = tokio::select! {
        new = receive(request.into_body(), new, length, shared.options.limits.piece) => new?,
        () = replaced(&mut newer) => {
            let detail = "Another upload to this URL began.".to_owned();
            return Err(Refusal::Plain(StatusCode::CONFLICT, detail));
        }
    };
    let synced = tokio::task::spawn_blocking(move || new.as_file().sync_all().map(|()| new)).await;
    let new = synced.map_err(io::Error::other).flatten().map_err(full)?;
    let path = shared.store.archive(&id);
    // A revision that names the archive is created before or after the change, so it has one archive for ever.
    let change = move |tx: &Tx<'_>| {
        let (tenant, _) = tx.upload_owner(&id)?;
        let before = tx.used(&tenant, Quota::UploadBytes)?;
        if !tx.received(&id, length)? {
            return Err(refused());
        }
        if let Some(exceeded) = tx.exceeded(&tenant, Quota::UploadBytes, before)? {
            return Err(exceeded.into());
        }
        // A second upload replaces the first.
        persist(new, &path).map_err(full)
    };
    shared.store.change(change).await?;
    drop(place);
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
            let detail = format!("The archive has {length} bytes; the limit is {LARGEST_UPLOAD}.");
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
        let piece = tokio::time::timeout(patience, pieces.next())
            .await
            .map_err(|_| Refusal::Plain(StatusCode::REQUEST_TIMEOUT, "The upload timed out.".to_owned()))?;
        match piece {
            None => break,
            Some(Err(_)) => return Err(Refusal::bad("The upload was cut off.")),
            Some(Ok(piece)) => {
                received += piece.len() as u64;
                // Blocking is fine: chunks are small, and writes are buffered by the system.
                file.write_all(&piece).map_err(full)?;
            }
        }
    }
    if received != length {
        return Err(Refusal::bad(format!("The archive has {received} bytes; Content-Length is {length}.")));
    }
    Ok(file)
}

fn full(error: io::Error) -> Refusal {
    let detail = format!("The archive cannot be stored: {}.", project::reason(&system_error(error)));
    Refusal::Plain(StatusCode::INSUFFICIENT_STORAGE, detail)
}
