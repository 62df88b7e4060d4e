//! Uploads of blobs, in one request or in several.
//!
//! An upload is in this process only: a restart ends it, and so does a request that fails. The client begins again then.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use url::form_urlencoded;
use uuid::Uuid;

use super::access::Access;
use super::blobs::{Room, Upload};
use super::distribution::{Distribution, repository};
use super::fault::{Fault, blocking, created};
use crate::store::Digest;
use crate::store::quota::Quota;

/// Maximum number of uploads in progress of a deployment. An engine sends a few layers at a time.
const MAX_UPLOADS: usize = 64;

/// Number of bytes that are written together.
const PIECE: usize = 1 << 20;

/// `POST /v2/images/{name}/blobs/uploads/`. A mount of a blob of another repository becomes an upload.
pub(super) async fn begin(
    State(registry): State<Arc<Distribution>>,
    access: Access,
    uri: Uri,
    body: Body,
) -> Result<Response, Fault> {
    if registry.uploads.count(&access.deployment) >= MAX_UPLOADS {
        let message = format!("A deployment may have {MAX_UPLOADS} uploads in progress.");
        return Err(Fault::new(StatusCode::TOO_MANY_REQUESTS, "TOOMANYREQUESTS", message));
    }
    let (blobs, deployment) = (registry.blobs.clone(), access.deployment.clone());
    let room = registry.store.read(|tx| {
        let tenant = tx.tenant_of_deployment(&deployment)?;
        let (deployments, most) = (tx.deployments_of(&tenant)?, tx.quota(&tenant, Quota::ImageBytes)?);
        Ok::<_, Fault>(Room { deployments, most })
    })?;
    let upload = blocking(move || blobs.begin(&deployment, room)).await?;
    if let Some(digest) = asked_digest(&uri)? {
        let upload = receive(&registry, upload, body).await?;
        return keep(&registry, &access, upload, digest).await;
    }
    let id = Uuid::new_v4().to_string();
    let answer = accepted(&access.name, &id, &upload);
    registry.uploads.put(&id, upload);
    Ok(answer)
}

/// `PATCH /v2/images/{name}/blobs/uploads/{upload}`
pub(super) async fn append(
    State(registry): State<Arc<Distribution>>,
    access: Access,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Fault> {
    let uploads = &registry.uploads;
    let upload = uploads.take(&access.deployment, &access.object)?;
    if begins_at(&headers).is_some_and(|start| start != upload.size) {
        let mut answer = accepted(&access.name, &access.object, &upload);
        *answer.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
        uploads.put(&access.object, upload);
        return Ok(answer);
    }
    let upload = receive(&registry, upload, body).await?;
    let answer = accepted(&access.name, &access.object, &upload);
    uploads.put(&access.object, upload);
    Ok(answer)
}

/// `PUT /v2/images/{name}/blobs/uploads/{upload}?digest=…`
pub(super) async fn finish(
    State(registry): State<Arc<Distribution>>,
    access: Access,
    uri: Uri,
    body: Body,
) -> Result<Response, Fault> {
    let digest =
        asked_digest(&uri)?.ok_or_else(|| Fault::wrong_digest("The parameter digest is missing."))?;
    let upload = registry.uploads.take(&access.deployment, &access.object)?;
    let upload = receive(&registry, upload, body).await?;
    keep(&registry, &access, upload, digest).await
}

/// `GET /v2/images/{name}/blobs/uploads/{upload}`
pub(super) async fn status(
    State(registry): State<Arc<Distribution>>,
    access: Access,
) -> Result<Response, Fault> {
    let uploads = &registry.uploads;
    let upload = uploads.take(&access.deployment, &access.object)?;
    let mut answer = accepted(&access.name, &access.object, &upload);
    *answer.status_mut() = StatusCode::NO_CONTENT;
    uploads.put(&access.object, upload);
    Ok(answer)
}

/// `DELETE /v2/images/{name}/blobs/uploads/{upload}`
pub(super) async fn cancel(
    State(registry): State<Arc<Distribution>>,
    access: Access,
) -> Result<Response, Fault> {
    drop(registry.uploads.take(&access.deployment, &access.object)?);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The digest that a blob must have.
fn asked_digest(uri: &Uri) -> Result<Option<Digest>, Fault> {
    let parameters = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let given = parameters.filter(|(name, _)| name == "digest").last();
    let Some((_, text)) = given.filter(|(_, text)| !text.is_empty()) else { return Ok(None) };
    let wrong = || Fault::wrong_digest("A digest is sha256: and 64 hexadecimal digits.");
    Digest::parse(&text).map(Some).ok_or_else(wrong)
}

/// The offset of a chunk, if its request has one: `Content-Range: 0-99`.
fn begins_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.trim_start_matches("bytes ").split_once('-')?.0.parse().ok()
}

/// Adds a body to an upload. If it breaks off, what was received goes with the upload.
async fn receive(registry: &Distribution, mut upload: Upload, body: Body) -> Result<Upload, Fault> {
    let mut chunks = body.into_data_stream();
    let mut piece: Vec<Bytes> = Vec::new();
    loop {
        let next = tokio::time::timeout(registry.limits.piece, chunks.next()).await;
        let next = next.map_err(|_| Fault::timeout())?.transpose().map_err(|_| Fault::broken_off())?;
        let is_end = next.is_none();
        piece.extend(next);
        let length: usize = piece.iter().map(Bytes::len).sum();
        if length >= PIECE || is_end && length > 0 {
            let (blobs, piece) = (registry.blobs.clone(), std::mem::take(&mut piece));
            upload =
                blocking(move || piece.iter().try_fold(upload, |upload, bytes| blobs.write(upload, bytes)))
                    .await?;
        }
        if is_end {
            return Ok(upload);
        }
    }
}

async fn keep(
    registry: &Distribution,
    access: &Access,
    upload: Upload,
    digest: Digest,
) -> Result<Response, Fault> {
    let place = format!("/v2/{}/blobs/{}", repository(&access.name), digest.as_str());
    let (blobs, kept) = (registry.blobs.clone(), digest.clone());
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
