//! SHA-256 digests.

use sha2::{Digest as _, Sha256};

use super::external::is_digest;

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest(String);

impl Digest {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        is_digest(text).then(|| Self(text.to_owned()))
    }

    pub(super) fn of(content: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(content))
    }

    pub(super) fn finish(hash: Sha256) -> Self {
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
