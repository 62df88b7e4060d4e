//! The page at `/`: its files, which are part of the program. It uses the API with a key that the user enters.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use super::shared::Shared;

/// Scripts, styles and calls of this service only, nothing inline, no frames, and no text that becomes HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the page: its path, media type and text.
type File = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: &[File] = &[
    ("/", HTML, include_str!("../../page/index.html")),
    ("/page/style.css", "text/css; charset=utf-8", include_str!("../../page/style.css")),
    ("/page/icon.svg", "image/svg+xml", include_str!("../../page/icon.svg")),
    ("/page/api.js", SCRIPT, include_str!("../../page/api.js")),
    ("/page/dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("/page/log.js", SCRIPT, include_str!("../../page/log.js")),
    ("/page/main.js", SCRIPT, include_str!("../../page/main.js")),
];

/// The routes of the files, which need no key.
pub(super) fn router() -> Router<Arc<Shared>> {
    FILES.iter().fold(Router::new(), |router, &file| {
        let tag = tag(file.2);
        router.route(file.0, get(async move |headers: HeaderMap| respond(file, &tag, &headers)))
    })
}

/// The entity tag of a text: its digest, so that every version of the program has its own.
fn tag(text: &str) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(text)[..16]))
}

/// A file, or 304 if the browser has it. The browser asks each time, so that the files are always of one version.
fn respond((_, kind, text): File, tag: &str, headers: &HeaderMap) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    let common = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    if is_known {
        (StatusCode::NOT_MODIFIED, common).into_response()
    } else {
        (common, [(header::CONTENT_TYPE, kind)], text).into_response()
    }
}
