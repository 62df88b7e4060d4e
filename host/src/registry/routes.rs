//! The routes of the registry, and blobs.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use futures_util::stream;

use super::access::{Access, Holder};
use super::distribution::{Distribution, NAMESPACE};
use super::fault::{Fault, blocking};
use super::{manifests, uploads};
use crate::store::Digest;

/// Number of bytes that are read together.
const PIECE: usize = 256 << 10;

/// The routes. Each requires credentials of its own, and no API key.
pub(crate) fn router<S>(distribution: Arc<Distribution>) -> Router<S> {
    let upload = get(uploads::status).patch(uploads::append).put(uploads::finish).delete(uploads::cancel);
    let repositories = Router::new()
        .route("/{name}/blobs/{digest}", get(blob))
        .route("/{name}/blobs/uploads/", post(uploads::begin))
        .route("/{name}/blobs/uploads/{upload}", upload)
        .route("/{name}/manifests/{reference}", get(manifests::get).put(manifests::put))
        .fallback(unknown)
        .method_not_allowed_fallback(async || Fault::unsupported());
    let routes = Router::new().route("/v2/", get(check)).nest(&format!("/v2/{NAMESPACE}"), repositories);
    routes.with_state(distribution)
}

/// `GET /v2/`: whether the credentials are valid.
async fn check(_: Holder) -> Response {
    let headers = [("content-type", "application/json"), ("docker-distribution-api-version", "registry/2.0")];
    (headers, "{}").into_response()
}

async fn unknown(_: Holder) -> Fault {
    Fault::missing("NAME_UNKNOWN", "There is no such repository.")
}

/// `GET /v2/images/{name}/blobs/{digest}`
async fn blob(
    State(registry): State<Arc<Distribution>>,
    access: Access,
    method: Method,
) -> Result<Response, Fault> {
    let digest = Digest::parse(&access.object).ok_or_else(Fault::unknown_blob)?;
    let (blobs, deployment) = (registry.blobs.clone(), access.deployment);
    let headers = |size: u64| {
        [
            ("content-type", "application/octet-stream".to_owned()),
            ("content-length", size.to_string()),
            ("docker-content-digest", digest.as_str().to_owned()),
        ]
    };
    let wanted = digest.clone();
    if method == Method::HEAD {
        // A push does not send what is there, so it has to stay until its manifest comes.
        let size = blocking(move || Ok(blobs.touch(&deployment, &wanted))).await?;
        return Ok(headers(size.ok_or_else(Fault::unknown_blob)?).into_response());
    }
    let opened = blocking(move || Ok(blobs.open(&deployment, &wanted))).await?;
    let (file, size) = opened.ok_or_else(Fault::unknown_blob)?;
    Ok((headers(size), content(file)).into_response())
}

/// The content of a file. No thread waits for a slow client.
fn content(file: File) -> Body {
    Body::from_stream(stream::try_unfold(file, |mut file| async {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let length = file.read(&mut piece)?;
            piece.truncate(length);
            std::io::Result::Ok((piece, file))
        });
        let (piece, file) = read.await.map_err(std::io::Error::other)??;
        let next = (!piece.is_empty()).then(|| (Bytes::from(piece), file));
        std::io::Result::Ok(next)
    }))
}
