//! Responses of the registry: errors in the form of the distribution specification, and what was created.

use std::io;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use agentcli::project;

use crate::store::persist::system_error;
use crate::store::quota::Exceeded;
use crate::store::{Broken, Digest};

/// An error: its status, its code and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Fault {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// 400 with a code.
    pub(super) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 404 with a code.
    pub(super) fn missing(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    pub(super) fn unauthorized() -> Self {
        let message = "A push token of the deployment is required; it may have expired.";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
    }

    pub(super) fn denied() -> Self {
        let message = "The credentials do not permit this for this repository.";
        Self::new(StatusCode::FORBIDDEN, "DENIED", message)
    }

    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "SIZE_INVALID", message)
    }

    pub(super) fn timeout() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "UNKNOWN", "The body takes too long.")
    }

    /// The client, or the connection to it, ended within a body.
    pub(super) fn broken_off() -> Self {
        Self::bad("BLOB_UPLOAD_INVALID", "The body broke off.")
    }

    pub(super) fn unknown_upload() -> Self {
        Self::missing("BLOB_UPLOAD_UNKNOWN", "The upload does not exist, or not any more.")
    }

    pub(super) fn unknown_blob() -> Self {
        Self::missing("BLOB_UNKNOWN", "The blob is not in this repository.")
    }

    pub(super) fn wrong_digest(message: impl Into<String>) -> Self {
        Self::bad("DIGEST_INVALID", message)
    }

    pub(super) fn unsupported() -> Self {
        let message = "This registry does not support the method here.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "UNSUPPORTED", message)
    }
}

/// A file cannot be read or written.
impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        let message = format!("The data cannot be kept: {}.", project::reason(&system_error(error)));
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "UNKNOWN", message)
    }
}

impl From<Exceeded> for Fault {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(StatusCode::FORBIDDEN, "DENIED", exceeded.to_string())
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        let status = match broken {
            Broken::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, "UNKNOWN", format!("The request failed: {broken}."))
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let errors = json!({ "errors": [{ "code": self.code, "message": self.message }] });
        let headers = [(header::CACHE_CONTROL, "no-store"), (header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, headers, errors.to_string()).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Basic realm=\"agentcli\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// The answer to a blob or a manifest that is kept.
pub(super) fn created(place: &str, digest: &Digest) -> Response {
    let headers = [("location", place), ("docker-content-digest", digest.as_str()), ("content-length", "0")];
    (StatusCode::CREATED, headers).into_response()
}

/// Does what would block other requests in another thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}
