//! SHA-256 digests.

use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest(String);

impl Digest {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        is_digest(text).then(|| Self(text.to_owned()))
    }

    pub(crate) fn of(content: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(content))
    }

    pub(crate) fn finish(hash: Sha256) -> Self {
        Self(format!("sha256:{}", hex::encode(hash.finalize())))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The hexadecimal digits.
    pub(crate) fn digits(&self) -> &str {
        self.0.rsplit(':').next().unwrap_or_default()
    }
}

/// Whether `text` is `sha256:` and 64 hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
}
