//! Bodies of requests: reading, limits and parsing.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use agentcli::api::wire::expected;

use super::answer::{Detail, Refusal};
use super::shared::Shared;

/// Maximum size of a body except uploads, in bytes.
const LARGEST: usize = 1 << 20;

/// Maximum number of values in a body: each takes many times its text in memory.
const MOST_VALUES: usize = 20_000;

/// A parsed body, and its JSON in the dialect of the specification.
pub(super) struct ParsedBody<T> {
    pub(super) record: T,
    pub(super) value: Value,
}

/// Reads the body of `request`; an empty body is an empty object.
pub(super) async fn read<T: DeserializeOwned>(
    shared: &Shared,
    request: Request,
) -> Result<ParsedBody<T>, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = bytes(body, LARGEST, shared.options.limits.body).await?;
    if !bytes.is_empty() && !is_json(&parts.headers) {
        let detail = "The body must be application/json.".to_owned();
        return Err(Refusal::Plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let text = if bytes.is_empty() { &b"{}"[..] } else { &bytes };
    if count_values(text) > MOST_VALUES {
        let detail = format!("The body must have at most {MOST_VALUES} values.");
        return Err(Refusal::Plain(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    let mut value: Value = serde_json::from_slice(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Refusal::invalid(&["body"], format!("Must be JSON; it is not at {place}."), "json_invalid")
    })?;
    shared.options.vocabulary.exchange(&mut value);
    let record = serde_path_to_error::deserialize(&value).map_err(|error| refusal(shared, &error))?;
    Ok(ParsedBody { record, value })
}

/// The number of values in a JSON text, or somewhat more.
fn count_values(text: &[u8]) -> usize {
    let mut count = 1;
    let mut is_text = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' if is_text => drop(bytes.next()),
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// The bytes of a body, at most `largest`.
pub(super) async fn bytes(body: Body, largest: usize, patience: Duration) -> Result<Bytes, Refusal> {
    let read = tokio::time::timeout(patience, axum::body::to_bytes(body, largest)).await;
    let read =
        read.map_err(|_| Refusal::Plain(StatusCode::REQUEST_TIMEOUT, "The body takes too long.".to_owned()))?;
    // If the connection broke, nobody receives this.
    read.map_err(|_| {
        let detail = format!("The body must have at most {largest} bytes.");
        Refusal::Plain(StatusCode::PAYLOAD_TOO_LARGE, detail)
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// The error of an invalid body. The invalid value may be secret, and is not repeated.
fn refusal(shared: &Shared, error: &serde_path_to_error::Error<serde_json::Error>) -> Refusal {
    let mut loc = vec![json!("body")];
    let mut record = "";
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => loc.push(json!(index)),
            Segment::Map { key } => {
                loc.push(json!(shared.options.vocabulary.field(record, key)));
                record = key;
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    let text = error.inner().to_string();
    let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let (msg, kind) = match (missing, text.rsplit_once("expected ")) {
        (Some(field), _) => {
            loc.push(json!(field));
            ("Is required.".to_owned(), "missing")
        }
        (None, Some((_, kind))) => (format!("Must be {}.", expected(kind)), "value_error"),
        (None, None) => ("Is not what it should be.".to_owned(), "value_error"),
    };
    Refusal::Invalid(vec![Detail { loc, msg, kind }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (text, expected) in
            [("1", 1), ("[1,2,[]]", 5), (r#"{"a,[{": ",\",", "b": 1}"#, 3), (r#""\\",1"#, 2), ("[", 2)]
        {
            assert_eq!(count_values(text.as_bytes()), expected, "{text}");
        }
    }
}
