//! A bill of materials.

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::component::Component;

/// The image that a bill is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// Its ID, `sha256:` and hexadecimal digits.
    pub id: String,
    /// Its platform, such as `linux/amd64`.
    pub platform: Option<String>,
    /// When it was created.
    pub created: Option<Timestamp>,
}

/// A bill of materials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bill {
    /// The image.
    pub image: Image,
    /// Its packages.
    pub components: Vec<Component>,
    /// The time of the bill; the same packages make the same bill if there is none.
    pub time: Option<Timestamp>,
}

/// A UUID that the content determines, as version 8 of RFC 9562.
pub(super) fn uuid(content: &Value) -> String {
    let mut bytes = Sha256::digest(content.to_string());
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex::encode(&bytes[..16]);
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

/// A time in whole seconds, as both formats write it.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
