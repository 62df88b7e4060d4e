//! Logs of builds and servers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LogLevel, LogOrder, Object, optional_fields};
use crate::api::time;

optional_fields! {
    /// The body of the POST that reads logs.
    LogRequest {
        /// Maximum number of entries.
        limit: u32,
        /// The oldest or the newest first.
        order: LogOrder,
        /// Filter by level.
        level: LogLevel,
        /// Filter by a substring of the message.
        query: String,
        /// Entries since this time, in ISO 8601.
        start_time: String,
        /// Entries until this time, in ISO 8601.
        end_time: String,
        /// `next_offset` of the previous page.
        offset: Cursor,
    }

    /// A log entry.
    LogEntry {
        /// Its unique ID.
        id: String,
        /// Time.
        timestamp: Timestamp,
        /// Level.
        level: LogLevel,
        /// Text.
        message: String,
    }
}

/// A page of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogPage {
    /// In the requested order.
    pub logs: Vec<LogEntry>,
    /// Offset of the next page; absent after the last.
    #[serde(default)]
    pub next_offset: Option<Cursor>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

/// A position in a log, opaque to clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cursor {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
}

/// The time of a log entry.
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

/// ISO 8601; in UTC if the service sent a number.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Milliseconds(time) => f.pad(&time::format(*time)),
            Self::Fraction(time) => f.pad(&time::format(time.floor() as i64)),
            Self::Text(time) => f.pad(time),
        }
    }
}
