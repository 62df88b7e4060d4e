//! Failed attempts of calls, and whether the service may have processed them.

mod secrets;

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::wire::Problem;
use super::{Call, Error, time};
pub(super) use secrets::Secrets;

/// Maximum length of the detail of a response, in characters.
const MAX_DETAIL: usize = 1000;

/// An attempt that failed.
pub(super) struct Failure {
    /// The error, if this was the last attempt.
    pub(super) error: Error,
    pub(super) outcome: Outcome,
    /// The pause that the service asks for.
    pub(super) retry_after: Option<Duration>,
}

/// Whether the service processed a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was refused, and would be again.
    Refused,
    /// It was not processed; a retry may be.
    NotProcessed,
    /// It may have been processed; the response was lost.
    Unknown,
    /// It was probably processed; the response is invalid, and would be again.
    Invalid,
}

impl Failure {
    pub(super) fn new(outcome: Outcome, error: Error) -> Self {
        Self { error, outcome, retry_after: None }
    }

    /// An invalid response.
    pub(super) fn malformed(call: &Call, reason: impl Into<String>) -> Self {
        Self::new(Outcome::Invalid, Error::Malformed { call: call.clone(), reason: reason.into() })
    }

    /// No response, or a part of one.
    pub(super) fn from_transport(call: &Call, host: &str, error: &reqwest::Error, limit: Duration) -> Self {
        let call = call.clone();
        let host = host.to_owned();
        let reason = innermost(error);
        if let Some(tls) = tls_error(error) {
            return Self::new(Outcome::Refused, Error::Tls { host, reason: tls });
        }
        if error.is_timeout() && !error.is_connect() {
            return Self::new(Outcome::Unknown, Error::Deadline { call, after: limit });
        }
        match error {
            error if error.is_connect() => {
                let reason = if error.is_timeout() { "connection timed out".to_owned() } else { reason };
                Self::new(Outcome::NotProcessed, Error::Unreachable { host, reason })
            }
            error if error.is_builder() => Self::new(Outcome::Refused, Error::Host { host, reason }),
            _ => Self::new(Outcome::Unknown, Error::Lost { call, host, reason }),
        }
    }

    /// A response with an error status, without the secrets of the request.
    pub(super) fn from_status(
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
        let (outcome, error) = match status.as_u16() {
            300..=399 => (Outcome::Refused, Error::Redirected { call, target: target(headers) }),
            401 | 403 => (Outcome::Refused, Error::NotAuthorised { call, detail }),
            404 => (Outcome::Refused, Error::NotFound { call, detail }),
            409 => (Outcome::Refused, Error::Conflict { call, detail }),
            429 => (Outcome::NotProcessed, Error::TryAgainLater { call, status: 429, detail }),
            408 | 500.. => (Outcome::Unknown, Error::TryAgainLater { call, status: status.as_u16(), detail }),
            status => (Outcome::Refused, Error::Rejected { call, status, detail }),
        };
        Self { error, outcome, retry_after }
    }
}

/// Whether the body is JSON, by its content type.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = media_type(headers);
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// The content type, without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The detail of a response, or else the meaning of its status. Secrets are removed before it is cut.
fn detail(status: StatusCode, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> String {
    match detail_of_body(headers, body) {
        Some(detail) => shortened(&secrets.redact(&detail)),
        None => status.canonical_reason().unwrap_or("no details").to_owned(),
    }
}

/// The `detail` of a response, or its text.
fn detail_of_body(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    if let Ok(problem) = serde_json::from_slice::<Problem>(body) {
        return Some(problem.detail.to_string());
    }
    let is_text = matches!(media_type(headers).as_str(), "text/plain" | "application/json");
    // JSON has several notations for the same text; it is normalized so that secrets are found.
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

/// Scheme, host and port of the target of a redirect; the rest may be secret.
fn target(headers: &HeaderMap) -> String {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match reqwest::Url::parse(location) {
        Ok(url) if url.has_host() => url.origin().ascii_serialization(),
        _ => "another path of the same host".to_owned(),
    }
}

/// The root cause: the errors around it contain addresses.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = if cause.is::<reqwest::Error>() { "the request failed".to_owned() } else { cause.to_string() };
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

pub(super) fn tls_error(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&dyn StdError> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found.to_string());
        }
        // The error inside an I/O error is not its source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inner.map(|inner| inner as &dyn StdError).or_else(|| error.source());
    }
    None
}

/// The pause of a Retry-After header: a number of seconds, or a date.
pub(super) fn retry_after(value: &str, now: i64) -> Option<Duration> {
    let value = value.trim();
    let seconds = value.parse().map(Duration::from_secs);
    seconds.ok().or_else(|| time::until_http_date(value, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_a_number_or_a_date() {
        let seconds = |text| retry_after(text, 784_111_747_000).map(|it| it.as_secs());
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds(" Sun, 06 Nov 1994 08:49:37 GMT"), Some(30));
        assert_eq!(seconds("-1"), None);
        assert_eq!(seconds("soon"), None);
    }
}
