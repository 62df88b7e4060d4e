//! API keys in requests, and random tokens.

use axum::http::{HeaderMap, header};
use uuid::Uuid;

/// The keys in `headers`: `X-Api-Key`, `X-Auth-Key` and `Authorization: Bearer`.
pub(crate) fn given(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let text = |name: &str| headers.get(name).map(|value| value.as_bytes());
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, key) = value.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
    });
    let given = [text("x-api-key"), text("x-auth-key"), bearer];
    given.into_iter().flatten().map(|key| key.trim_ascii())
}

/// 244 random bits as 64 hexadecimal digits.
pub fn token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}
