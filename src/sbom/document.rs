//! A bill of materials, and the formats in which it is written.

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::component::Component;
use super::{cyclonedx, spdx};

/// The format of a bill of materials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// CycloneDX 1.6.
    #[default]
    CycloneDx,
    /// SPDX 2.3.
    Spdx,
}

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

impl Format {
    /// Its media type, by which registries and clients find attached bills.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::CycloneDx => "application/vnd.cyclonedx+json",
            Self::Spdx => "application/spdx+json",
        }
    }
}

impl Bill {
    /// The bill as JSON, with a line end. The same bill is the same text.
    pub fn write(&self, format: Format) -> String {
        let document = match format {
            Format::CycloneDx => cyclonedx::document(self),
            Format::Spdx => spdx::document(self),
        };
        format!("{document:#}\n")
    }
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
