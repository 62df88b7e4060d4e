//! The entries of a log that were shown already.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::api::wire::{LogEntry, LogLevel};

/// Number of entries that are remembered: many more than are logged in one moment.
const REMEMBERED: usize = 20_000;

/// The entries of a log that were shown.
#[derive(Default)]
pub struct Shown {
    keys: HashSet<String>,
    order: VecDeque<String>,
}

/// Counts equal entries in one reading of the log, which tells them apart.
#[derive(Default)]
pub struct Reading {
    counts: HashMap<String, usize>,
}

impl Shown {
    /// Whether the entry was not shown before; from now on it was.
    pub fn is_new(&mut self, reading: &mut Reading, entry: &LogEntry) -> bool {
        let key = reading.key(entry);
        if !self.keys.insert(key.clone()) {
            return false;
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
        true
    }
}

impl Reading {
    /// The entry's ID; without one, its content and the number of equal entries before it. Readings start at a point in
    /// time and have all entries of that moment, so the number is the same in every reading.
    fn key(&mut self, entry: &LogEntry) -> String {
        if let Some(id) = &entry.id {
            return format!("id {id}");
        }
        let level = entry.level.as_ref().map_or("", LogLevel::word);
        let message = entry.message.as_deref().unwrap_or_default();
        let key = format!(
            "{} {level} {message}",
            entry.timestamp.as_ref().map(ToString::to_string).unwrap_or_default()
        );
        let count = self.counts.entry(key.clone()).or_default();
        *count += 1;
        format!("{count} {key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wire::Timestamp;

    fn entry(id: Option<&str>, message: &str) -> LogEntry {
        LogEntry {
            id: id.map(str::to_owned),
            timestamp: Some(Timestamp::Milliseconds(0)),
            message: Some(message.to_owned()),
            ..LogEntry::default()
        }
    }

    #[test]
    fn each_entry_is_new_once() {
        let mut shown = Shown::default();
        let mut read = |entries: &[LogEntry]| {
            let mut reading = Reading::default();
            entries.iter().map(|entry| shown.is_new(&mut reading, entry)).collect::<Vec<_>>()
        };
        assert_eq!(read(&[entry(Some("1"), "a"), entry(Some("2"), "a")]), [true, true]);
        assert_eq!(read(&[entry(Some("2"), "a"), entry(Some("3"), "a")]), [false, true]);
        assert_eq!(read(&[entry(None, "a"), entry(None, "a"), entry(None, "b")]), [true, true, true]);
        assert_eq!(read(&[entry(None, "a"), entry(None, "a"), entry(None, "a")]), [false, false, true]);
    }
}
