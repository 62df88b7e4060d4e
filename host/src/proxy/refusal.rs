//! Answers of the proxy itself.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::body::ResponseBody;
use crate::net::host_name::{HostName, InvalidHost};

/// Seconds after which a client should try again when nothing is known about the wait.
const RETRY_SECONDS: u16 = 5;

const MAY_BE_DONE: &str = "the request may have been processed: check before you repeat it";

/// The reason not to forward a request or its response.
///
/// After 503, the request can be repeated: no backend got it, or it is idempotent. After 502, one may have acted on it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("cannot route the request: {0}")]
    InvalidHost(#[from] InvalidHost),
    /// It names no other host: those belong to others.
    #[error(
        "no deployment is served at `{0}`; request the URL of the deployment, which `agentcli deploy` prints"
    )]
    UnknownHost(HostName),
    #[error("CONNECT is not supported; send the request to the URL of the deployment")]
    Connect,
    #[error("no backend available, and {max} requests are waiting already: {reason}; try again later")]
    TooManyHeld { max: usize, reason: String },
    #[error("{max} requests to this deployment are open, the most that it may have; try again later")]
    TooManyRequests { max: usize },
    #[error("no backend available within {} s: {reason}; try again later", .after.as_secs())]
    Unavailable { after: Duration, reason: String },
    #[error("cannot forward the request: its body ended early")]
    IncompleteRequest,
    #[error("the server closed the connection without a response; {MAY_BE_DONE}")]
    NoResponse,
    #[error("the response of the server is not valid HTTP; {MAY_BE_DONE}")]
    InvalidResponse,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::InvalidHost(_) | Self::IncompleteRequest => StatusCode::BAD_REQUEST,
            Self::UnknownHost(_) => StatusCode::NOT_FOUND,
            Self::Connect => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooManyHeld { .. } | Self::TooManyRequests { .. } | Self::Unavailable { .. } => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::NoResponse | Self::InvalidResponse => StatusCode::BAD_GATEWAY,
        }
    }

    pub(super) fn response(&self) -> Response<ResponseBody> {
        let body = serde_json::json!({ "detail": self.to_string() }).to_string();
        let mut response = Response::new(Either::Right(Full::new(Bytes::from(body))));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, RETRY_SECONDS.into());
        }
        if matches!(self, Self::Connect) {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
        }
        response
    }
}
