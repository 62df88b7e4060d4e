//! Responses: JSON, and errors in the two forms of the specification.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};

use agentcli::api::Vocabulary;

use crate::store::Broken;
use crate::store::quota::Exceeded;

/// A validation error of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Detail {
    /// Location: `query`, `path` or `body`, then names and indices.
    pub(crate) loc: Vec<Value>,
    /// Message, a sentence.
    pub(crate) msg: String,
    /// Code, such as `missing`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

impl Detail {
    /// An error about the value at `loc`.
    pub(super) fn new(loc: &[&str], msg: impl Into<String>, kind: &'static str) -> Self {
        Self { loc: loc.iter().map(|part| json!(part)).collect(), msg: msg.into(), kind }
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// `{"detail": "…"}`, with this status.
    Plain(StatusCode, String),
    /// `{"detail": [{"loc", "msg", "type"}]}`, with status 422: the request is invalid.
    Invalid(Vec<Detail>),
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Self {
        let status = match &broken {
            Broken::Database(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            Broken::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::Plain(status, format!("The request failed: {broken}."))
    }
}

impl From<Exceeded> for Refusal {
    fn from(exceeded: Exceeded) -> Self {
        Self::Plain(StatusCode::FORBIDDEN, exceeded.to_string())
    }
}

impl Refusal {
    /// 400: the request is valid, but cannot be processed.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::Plain(StatusCode::BAD_REQUEST, detail.into())
    }

    /// 401: no key of the request is known.
    pub(super) fn unauthorized() -> Self {
        Self::Plain(StatusCode::UNAUTHORIZED, "Invalid API key.".to_owned())
    }

    /// 404: the resource does not exist.
    pub(super) fn missing(kind: &str, id: &str) -> Self {
        Self::Plain(StatusCode::NOT_FOUND, format!("{kind} ID {id} not found."))
    }

    /// 422 for one value.
    pub(super) fn invalid(loc: &[&str], msg: impl Into<String>, kind: &'static str) -> Self {
        Self::Invalid(vec![Detail::new(loc, msg, kind)])
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Plain(status, detail) => {
                let mut response = json_response(status, &json!({ "detail": detail }));
                if status == StatusCode::UNAUTHORIZED {
                    let scheme = HeaderValue::from_static("Bearer");
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
                }
                response
            }
            Self::Invalid(details) => {
                json_response(StatusCode::UNPROCESSABLE_ENTITY, &json!({ "detail": details }))
            }
        }
    }
}

/// `value` as JSON.
pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store"), (header::CONTENT_TYPE, "application/json")];
    (status, headers, value.to_string()).into_response()
}

/// The part of a list from `offset` on, in a dialect.
pub(super) fn page(vocabulary: Vocabulary, offset: usize, resources: Vec<Value>) -> Response {
    let next = offset.saturating_add(resources.len());
    let fields = [("resources", Value::Array(resources)), ("offset", next.into())];
    spoken(vocabulary, StatusCode::OK, fields.into_iter().collect())
}

/// A record or a page in a dialect.
pub(super) fn spoken(vocabulary: Vocabulary, status: StatusCode, mut record: Value) -> Response {
    vocabulary.exchange(&mut record);
    json_response(status, &record)
}
