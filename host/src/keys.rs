//! API keys, of which only the digests are kept.

use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};
use uuid::Uuid;

type Digest = [u8; 32];

/// The API keys of the service. There is no `Debug`, and no text of the keys.
#[derive(Clone, Default)]
pub struct Keys(Vec<Digest>);

impl Keys {
    /// These keys, without empty ones.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let keys = keys.into_iter().map(str::trim).filter(|key| !key.is_empty());
        Self(keys.map(|key| digest(key.as_bytes())).collect())
    }

    /// The keys of a file: one per line; `#` starts a comment line.
    pub fn parse(text: &str) -> Self {
        Self::new(text.lines().filter(|line| !line.trim_start().starts_with('#')))
    }

    /// A new random key.
    pub fn generate() -> String {
        token()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `headers` contain one of the keys, as `X-Api-Key`, `X-Auth-Key` or `Authorization: Bearer`.
    pub(super) fn open(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).map(|value| value.as_bytes());
        let bearer = text(header::AUTHORIZATION.as_str()).and_then(|value| {
            let (scheme, key) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
        });
        let given = [text("x-api-key"), text("x-auth-key"), bearer];
        given.into_iter().flatten().any(|key| self.holds(key))
    }

    /// Compares all digests in constant time, so that wrong keys take as long as right ones.
    fn holds(&self, key: &[u8]) -> bool {
        let given = digest(key.trim_ascii());
        let equal = self.0.iter().fold(Choice::from(0), |equal, known| equal | known.ct_eq(&given));
        equal.into()
    }
}

/// 244 random bits as 64 hexadecimal digits.
pub(super) fn token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Compares two secrets in constant time.
pub(super) fn same(left: &str, right: &str) -> bool {
    digest(left.as_bytes()).ct_eq(&digest(right.as_bytes())).into()
}

fn digest(key: &[u8]) -> Digest {
    Sha256::digest(key).into()
}
