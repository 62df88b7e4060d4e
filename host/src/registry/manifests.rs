//! Manifests: pushed and pulled by their digests and by tags.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use agentcli::api::time;

use super::access::Access;
use super::distribution::{Distribution, repository};
use super::fault::{Fault, blocking, created};
use crate::store::{Digest, IMAGES, INDEXES, Manifest, Needs, Tx, needs};

/// Maximum size of a manifest, in bytes.
const LARGEST: usize = 4 << 20;

/// Maximum number of manifests of a deployment.
const MAX_MANIFESTS: usize = 1000;

/// Maximum length of a tag.
const MAX_TAG: usize = 128;

/// `GET /v2/images/{name}/manifests/{reference}`
pub(super) async fn get(
    State(registry): State<Arc<Distribution>>,
    access: Access,
) -> Result<Response, Fault> {
    let found = registry.store.read(|tx| tx.manifest(&access.deployment, &access.object))?;
    let missing = || Fault::missing("MANIFEST_UNKNOWN", "The manifest is not in this repository.");
    let Manifest { digest, kind, content, .. } = found.ok_or_else(missing)?;
    let headers = [
        ("content-type", kind),
        ("content-length", content.len().to_string()),
        ("docker-content-digest", digest),
    ];
    Ok((headers, content).into_response())
}

/// `PUT /v2/images/{name}/manifests/{reference}`
pub(super) async fn put(
    State(registry): State<Arc<Distribution>>,
    access: Access,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Fault> {
    let kind = kind(&headers);
    let content = content(&registry, body).await?;
    let digest = Digest::of(&content);
    let tag = tag(&access.object, &digest)?;
    let Needs { blobs: needed, manifests } = valid_needs(&kind, &content)?;
    let (blobs, deployment) = (registry.blobs.clone(), access.deployment.clone());
    // From here on, the blobs stay for a while even if no manifest needs them.
    blocking(move || {
        needed.iter().try_for_each(|(part, size)| match blobs.touch(&deployment, part) {
            Some(found) if found == *size => Ok(()),
            found => Err(unknown_part(part, *size, found)),
        })
    })
    .await?;
    let manifest = Manifest {
        digest: digest.as_str().to_owned(),
        kind,
        content: content.to_vec(),
        is_needed: false,
        made: time::now(),
    };
    let deployment = access.deployment.clone();
    registry.store.change(move |tx| add(tx, &deployment, &manifest, &manifests, tag.as_deref())).await?;
    Ok(created(&format!("/v2/{}/manifests/{}", repository(&access.name), digest.as_str()), &digest))
}

fn add(
    tx: &Tx<'_>,
    deployment: &str,
    manifest: &Manifest,
    needed: &[(Digest, u64)],
    tag: Option<&str>,
) -> Result<(), Fault> {
    for (part, size) in needed {
        let found = tx.manifest(deployment, part.as_str())?.map(|found| found.content.len() as u64);
        if found != Some(*size) {
            return Err(unknown_part(part, *size, found));
        }
    }
    if tx.manifest_count(deployment)? >= MAX_MANIFESTS {
        return Err(Fault::too_large(format!("A deployment may have {MAX_MANIFESTS} manifests at most.")));
    }
    Ok(tx.add_manifest(deployment, manifest, tag)?)
}

/// The error of a part that is not there, or has another size.
fn unknown_part(part: &Digest, size: u64, found: Option<u64>) -> Fault {
    let part = part.as_str();
    match found {
        None => Fault::bad("MANIFEST_BLOB_UNKNOWN", format!("{part} is not in this repository.")),
        Some(found) => Fault::bad("MANIFEST_INVALID", format!("{part} has {found} bytes, and not {size}.")),
    }
}

async fn content(registry: &Distribution, body: Body) -> Result<axum::body::Bytes, Fault> {
    let read = tokio::time::timeout(registry.limits.body, axum::body::to_bytes(body, LARGEST)).await;
    let too_large = |_| Fault::too_large(format!("A manifest may have {LARGEST} bytes at most."));
    // If the connection broke, nobody receives this.
    read.map_err(|_| Fault::timeout())?.map_err(too_large)
}

fn kind(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_owned()
}

/// The tag that a manifest is pushed with, unless it is pushed by its digest.
fn tag(reference: &str, digest: &Digest) -> Result<Option<String>, Fault> {
    if reference.contains(':') {
        let is_same = reference == digest.as_str();
        let message = || format!("The manifest has the digest {}.", digest.as_str());
        return if is_same { Ok(None) } else { Err(Fault::wrong_digest(message())) };
    }
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_valid = (1..=MAX_TAG).contains(&reference.len())
        && reference.chars().all(is_inner)
        && !reference.starts_with(['.', '-']);
    if is_valid { Ok(Some(reference.to_owned())) } else { Err(invalid_tag()) }
}

fn invalid_tag() -> Fault {
    let message = format!("A tag has 1 to {MAX_TAG} letters, digits, `_`, `.` and `-`.");
    Fault::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", message)
}

/// The blobs and manifests that a manifest references.
fn valid_needs(kind: &str, content: &[u8]) -> Result<Needs, Fault> {
    if !IMAGES.contains(&kind) && !INDEXES.contains(&kind) {
        let message =
            format!("The Content-Type must be one of {}, {}.", IMAGES.join(", "), INDEXES.join(", "));
        return Err(Fault::bad("MANIFEST_INVALID", message));
    }
    needs(kind, content)
        .map_err(|reason| Fault::bad("MANIFEST_INVALID", format!("The manifest is invalid: {reason}.")))
}
