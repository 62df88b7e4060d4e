//! Uploads of blobs, in one request or in several.
//!
//! An upload is in this process only: a restart ends it, and so does a request that fails. The client begins again then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use uuid::Uuid;

use super::access::Access;
use super::blobs::{Room, Upload};
use super::digest::Digest;
use super::fault::Fault;
use super::routes::{blocking, created};
use super::{Shared, repository};
use crate::api::query::Query;
use crate::lock;
use crate::store::quota::Quota;

/// Maximum number of uploads in progress of a deployment. An engine sends a few layers at a time.
const MAX_UPLOADS: usize = 64;

/// Number of bytes that are written together.
const PIECE: usize = 1 << 20;

/// The uploads that wait for their next request.
pub(super) struct Uploads {
    /// By their ID, with the time of the last request.
    waiting: Mutex<HashMap<String, (Upload, Instant)>>,
    patience: Duration,
}

impl Uploads {
    pub(super) fn new(patience: Duration) -> Self {
        Self { waiting: Mutex::default(), patience }
    }

    fn count(&self, deployment: &str) -> usize {
        lock(&self.waiting).values().filter(|(upload, _)| upload.deployment == deployment).count()
    }

    fn put(&self, id: &str, upload: Upload) {
        lock(&self.waiting).insert(id.to_owned(), (upload, Instant::now()));
    }

    /// Takes the upload of a request, which no other request has meanwhile.
    fn take(&self, access: &Access) -> Result<Upload, Fault> {
        let mut waiting = lock(&self.waiting);
        let found = waiting.get(&access.object);
        let is_own = found.is_some_and(|(upload, _)| upload.deployment == access.deployment);
        let taken = if is_own { waiting.remove(&access.object) } else { None };
        taken.map(|(upload, _)| upload).ok_or_else(Fault::unknown_upload)
    }

    /// Removes the uploads that do not go on.
    pub(super) fn remove_old(&self) {
        lock(&self.waiting).retain(|_, (_, since)| since.elapsed() < self.patience);
    }
}

/// `POST /v2/images/{name}/blobs/uploads/`. A mount of a blob of another repository becomes an upload.
pub(super) async fn begin(
    State(shared): State<Arc<Shared>>,
    access: Access,
    uri: Uri,
    body: Body,
) -> Result<Response, Fault> {
    let registry = &shared.distribution;
    if registry.uploads.count(&access.deployment) >= MAX_UPLOADS {
        let message = format!("A deployment may have {MAX_UPLOADS} uploads in progress.");
        return Err(Fault::new(StatusCode::TOO_MANY_REQUESTS, "TOOMANYREQUESTS", message));
    }
    let (blobs, deployment) = (registry.blobs.clone(), access.deployment.clone());
    let room = shared.store.read(|tx| {
        let tenant = tx.tenant_of_deployment(&deployment)?;
        let (deployments, most) = (tx.deployments_of(&tenant)?, tx.quota(&tenant, Quota::ImageBytes)?);
        Ok::<_, Fault>(Room { deployments, most })
    })?;
    let upload = blocking(move || blobs.begin(&deployment, room)).await?;
    if let Some(digest) = asked_digest(&uri)? {
        let upload = receive(&shared, upload, body).await?;
        return keep(&shared, &access, upload, digest).await;
    }
    let id = Uuid::new_v4().to_string();
    let answer = accepted(&access.name, &id, &upload);
    registry.uploads.put(&id, upload);
    Ok(answer)
}

/// `PATCH /v2/images/{name}/blobs/uploads/{upload}`
pub(super) async fn append(
    State(shared): State<Arc<Shared>>,
    access: Access,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Fault> {
    let uploads = &shared.distribution.uploads;
    let upload = uploads.take(&access)?;
    if begins_at(&headers).is_some_and(|start| start != upload.size) {
        let mut answer = accepted(&access.name, &access.object, &upload);
        *answer.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
        uploads.put(&access.object, upload);
        return Ok(answer);
    }
    let upload = receive(&shared, upload, body).await?;
    let answer = accepted(&access.name, &access.object, &upload);
    uploads.put(&access.object, upload);
    Ok(answer)
}

/// `PUT /v2/images/{name}/blobs/uploads/{upload}?digest=…`
pub(super) async fn finish(
    State(shared): State<Arc<Shared>>,
    access: Access,
    uri: Uri,
    body: Body,
) -> Result<Response, Fault> {
    let digest =
        asked_digest(&uri)?.ok_or_else(|| Fault::wrong_digest("The parameter digest is missing."))?;
    let upload = shared.distribution.uploads.take(&access)?;
    let upload = receive(&shared, upload, body).await?;
    keep(&shared, &access, upload, digest).await
}

/// `GET /v2/images/{name}/blobs/uploads/{upload}`
pub(super) async fn status(State(shared): State<Arc<Shared>>, access: Access) -> Result<Response, Fault> {
    let uploads = &shared.distribution.uploads;
    let upload = uploads.take(&access)?;
    let mut answer = accepted(&access.name, &access.object, &upload);
    *answer.status_mut() = StatusCode::NO_CONTENT;
    uploads.put(&access.object, upload);
    Ok(answer)
}

/// `DELETE /v2/images/{name}/blobs/uploads/{upload}`
pub(super) async fn cancel(State(shared): State<Arc<Shared>>, access: Access) -> Result<Response, Fault> {
    drop(shared.distribution.uploads.take(&access)?);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The digest that a blob must have.
fn asked_digest(uri: &Uri) -> Result<Option<Digest>, Fault> {
    let Some(text) = Query::parse(uri).text("digest") else { return Ok(None) };
    let wrong = || Fault::wrong_digest("A digest is sha256: and 64 hexadecimal digits.");
    Digest::parse(&text).map(Some).ok_or_else(wrong)
}

/// The offset of a chunk, if its request has one: `Content-Range: 0-99`.
fn begins_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.trim_start_matches("bytes ").split_once('-')?.0.parse().ok()
}

/// Adds a body to an upload. If it breaks off, what was received goes with the upload.
async fn receive(shared: &Shared, mut upload: Upload, body: Body) -> Result<Upload, Fault> {
    let mut chunks = body.into_data_stream();
    let mut piece: Vec<Bytes> = Vec::new();
    loop {
        let next = tokio::time::timeout(shared.options.limits.piece, chunks.next()).await;
        let next = next.map_err(|_| Fault::timeout())?.transpose().map_err(|_| Fault::broken_off())?;
        let is_end = next.is_none();
        piece.extend(next);
        let length: usize = piece.iter().map(Bytes::len).sum();
        if length >= PIECE || is_end && length > 0 {
            let (blobs, piece) = (shared.distribution.blobs.clone(), std::mem::take(&mut piece));
            upload =
                blocking(move || piece.iter().try_fold(upload, |upload, bytes| blobs.write(upload, bytes)))
                    .await?;
        }
        if is_end {
            return Ok(upload);
        }
    }
}

async fn keep(shared: &Shared, access: &Access, upload: Upload, digest: Digest) -> Result<Response, Fault> {
    let place = format!("/v2/{}/blobs/{}", repository(&access.name), digest.as_str());
    let (blobs, kept) = (shared.distribution.blobs.clone(), digest.clone());
    blocking(move || blobs.keep(upload, &kept)).await?;
    Ok(created(&place, &digest))
}

/// The answer to a part of an upload: where to go on, and what was received.
fn accepted(name: &str, id: &str, upload: &Upload) -> Response {
    let place = format!("/v2/{}/blobs/uploads/{id}", repository(name));
    let range = format!("0-{}", upload.size.saturating_sub(1));
    let headers = [
        ("location", place),
        ("range", range),
        ("docker-upload-uuid", id.to_owned()),
        ("content-length", "0".to_owned()),
    ];
    (StatusCode::ACCEPTED, headers).into_response()
}
