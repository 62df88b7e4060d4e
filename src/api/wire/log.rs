//! What a build or a server said.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LogLevel, LogOrder, Object, optional_fields};
use crate::api::time;

optional_fields! {
    /// The body of the POST that reads logs.
    LogRequest {
        /// The most entries of one answer.
        limit: u32,
        /// The oldest or the newest first.
        order: LogOrder,
        /// Filter by level.
        level: LogLevel,
        /// Only entries that hold this text.
        query: String,
        /// ISO 8601: only entries from then on.
        start_time: String,
        /// ISO 8601: only entries up to then.
        end_time: String,
        /// `next_offset` of the answer before.
        offset: Cursor,
    }

    /// Something that was said.
    LogEntry {
        /// Tells it from others.
        id: String,
        /// When.
        timestamp: Timestamp,
        /// How grave it is.
        level: LogLevel,
        /// What was said.
        message: String,
    }
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogPage {
    /// In the order that was asked for.
    pub logs: Vec<LogEntry>,
    /// What to ask for to get the next part; absent behind the last.
    #[serde(default)]
    pub next_offset: Option<Cursor>,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

/// A place in a log, which only the service understands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cursor {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
}

/// When something was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Timestamp {
    /// Milliseconds since 1970, UTC.
    Milliseconds(i64),
    /// The same with a fraction.
    Fraction(f64),
    /// ISO 8601.
    Text(String),
}

/// ISO 8601, in UTC where the service sent a number.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Milliseconds(time) => f.pad(&time::format(*time)),
            Self::Fraction(time) => f.pad(&time::format(time.floor() as i64)),
            Self::Text(time) => f.pad(time),
        }
    }
}
