//! How an attempt failed, and whether it may have done something all the same.

mod secrets;

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::patience::retry_after;
use super::wire::Problem;
use super::{Call, Error, time};
pub(super) use secrets::Secrets;

/// No more is shown of what the service says, in characters.
const MAX_DETAIL: usize = 1000;

/// An attempt that failed.
pub(super) struct Failure {
    /// What to say if it was the last.
    pub(super) error: Error,
    pub(super) kind: Kind,
    /// How long the service asks to wait.
    pub(super) retry_after: Option<Duration>,
}

/// What is known of an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It had no effect, and has none if it is repeated.
    Refused,
    /// It had no effect, and may have one if it is repeated.
    NotTaken,
    /// It may have had its effect; the answer was lost.
    Unknown,
    /// It probably had its effect; the answer cannot be understood, and would be the same again.
    Garbled,
}

impl Failure {
    pub(super) fn new(kind: Kind, error: Error) -> Self {
        Self { error, kind, retry_after: None }
    }

    /// An answer that cannot be understood.
    pub(super) fn malformed(call: &Call, reason: impl Into<String>) -> Self {
        Self::new(Kind::Garbled, Error::Malformed { call: call.clone(), reason: reason.into() })
    }

    /// No answer, or a part of one.
    pub(super) fn of_transport(call: &Call, host: &str, error: &reqwest::Error, limit: Duration) -> Self {
        let (call, host, reason) = (call.clone(), host.to_owned(), innermost(error));
        if let Some(tls) = tls_error(error) {
            return Self::new(Kind::Refused, Error::Tls { host, reason: tls });
        }
        if error.is_timeout() && !error.is_connect() {
            return Self::new(Kind::Unknown, Error::Deadline { call, patience: limit });
        }
        match error {
            error if error.is_connect() => {
                let reason = if error.is_timeout() { "connection timed out".to_owned() } else { reason };
                Self::new(Kind::NotTaken, Error::Unreachable { host, reason })
            }
            error if error.is_builder() => Self::new(Kind::Refused, Error::Host { host, reason }),
            _ => Self::new(Kind::Unknown, Error::Lost { call, host, reason }),
        }
    }

    /// An answer with a status that is no success, without the secrets of what was asked.
    pub(super) fn of_status(
        call: &Call,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        secrets: &Secrets,
    ) -> Self {
        let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = asked.and_then(|asked| retry_after(asked, time::now()));
        let (call, mut detail) = (call.clone(), detail(status, headers, body, secrets));
        if let Some(pause) = retry_after {
            detail += &format!(" (retry after {} s)", pause.as_secs());
        }
        let (kind, error) = match status.as_u16() {
            300..=399 => (Kind::Refused, Error::Redirected { call, target: target(headers) }),
            401 | 403 => (Kind::Refused, Error::NotAuthorised { call, detail }),
            404 => (Kind::Refused, Error::NotFound { call, detail }),
            409 => (Kind::Refused, Error::Conflict { call, detail }),
            429 => (Kind::NotTaken, Error::TryAgainLater { call, status: 429, detail }),
            408 | 500.. => (Kind::Unknown, Error::TryAgainLater { call, status: status.as_u16(), detail }),
            status => (Kind::Refused, Error::Rejected { call, status, detail }),
        };
        Self { error, kind, retry_after }
    }
}

/// Whether a body says that it is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = media_type(headers);
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// What a body says that it is, without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What the service says of why, or only what the status means. A secret that was cut would not be found any more.
fn detail(status: StatusCode, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> String {
    match said(headers, body) {
        Some(said) => shortened(&secrets.taken_out_of(&said)),
        None => status.canonical_reason().unwrap_or("no details").to_owned(),
    }
}

/// The `detail` of an answer, or its text.
fn said(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    if let Ok(problem) = serde_json::from_slice::<Problem>(body) {
        return Some(problem.detail.to_string());
    }
    let is_text = matches!(media_type(headers).as_str(), "text/plain" | "application/json");
    // JSON can write the same text in several ways: so that it is known which, it is written anew.
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => value.to_string(),
        Err(_) => String::from_utf8_lossy(body).trim().to_owned(),
    };
    (is_text && !text.is_empty()).then_some(text)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_DETAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Scheme, host and port of where an answer points; no more, as the rest may be a secret.
fn target(headers: &HeaderMap) -> String {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match reqwest::Url::parse(location) {
        Ok(url) if url.has_host() => url.origin().ascii_serialization(),
        _ => "another path of the same host".to_owned(),
    }
}

/// The first cause: what is around it names addresses.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = if cause.is::<reqwest::Error>() { "the request failed".to_owned() } else { cause.to_string() };
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn tls_error(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&dyn StdError> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found.to_string());
        }
        // What is inside of an I/O error, which may be another one, is not its source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inner.map(|inner| inner as &dyn StdError).or_else(|| error.source());
    }
    None
}
