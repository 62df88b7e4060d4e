//! What the service answers when it does not do what it is asked to: `{"detail": "…"}`, or a list of what is wrong
//! with the request.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Object;

/// The body of an answer that is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Why.
    pub detail: Detail,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Detail {
    /// In words.
    Text(String),
    /// What is wrong with the request, with status 422.
    List(Vec<ValidationError>),
    /// In a form that is not known here.
    Other(Value),
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationError {
    /// Where: `query` or `body` first, then names and indices.
    pub loc: Vec<Location>,
    /// In words.
    pub msg: String,
    /// For programs.
    #[serde(rename = "type")]
    pub kind: String,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

/// A step on the way to what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Location {
    /// The number of an element, from 0.
    Index(u64),
    /// The name of a field.
    Name(String),
}

/// What serde says that it expected, in the words of JSON.
pub(crate) fn expected(kind: &str) -> &str {
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
                for (index, error) in list.iter().enumerate() {
                    write!(f, "{}{error}", if index > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
            Self::Other(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.loc.iter().enumerate() {
            write!(f, "{}{step}", if index > 0 { "." } else { "" })?;
        }
        write!(f, ": {}", self.msg)
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
