//! The formats in which a bill of materials is written.

use super::document::Bill;
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
