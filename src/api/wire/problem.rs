//! Error responses of the service: `{"detail": "…"}`, or a list of validation errors.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Object;

/// The body of an error response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The reason.
    pub detail: Detail,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

/// The reason for an error response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Detail {
    /// Text.
    Text(String),
    /// Validation errors, with status 422.
    List(Vec<ValidationError>),
    /// Unknown form.
    Other(Value),
}

/// A validation error of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationError {
    /// Location: `query` or `body`, then names and indices.
    pub loc: Vec<Location>,
    /// Message.
    pub msg: String,
    /// Code.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

/// A segment of a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Location {
    /// Index of an element, from 0.
    Index(u64),
    /// Name of a field.
    Name(String),
}

/// A type that serde expected, in terms of JSON.
pub fn expected(kind: &str) -> &str {
    match kind {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        kind if kind.starts_with("struct ") => "an object",
        kind => kind,
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::List(list) => {
                let errors: Vec<String> = list.iter().map(ToString::to_string).collect();
                f.write_str(&errors.join("; "))
            }
            Self::Other(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place: Vec<String> = self.loc.iter().map(ToString::to_string).collect();
        write!(f, "{}: {}", place.join("."), self.msg)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}
