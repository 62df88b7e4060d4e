//! The entries of a log that were shown already.

use std::collections::HashMap;

use indexmap::IndexSet;

use crate::api::wire::{LogEntry, LogLevel};

/// Maximum number of entries that are remembered; half of them are many more than are logged in one moment.
const REMEMBERED: usize = 20_000;

/// The entries of a log that were shown.
#[derive(Default)]
pub struct ShownEntries {
    keys: IndexSet<String>,
}

/// One pass over the end of a log. Counts equal entries, which tells them apart.
#[derive(Default)]
pub struct LogPass {
    counts: HashMap<String, usize>,
}

impl ShownEntries {
    /// Whether the entry was not shown before; from now on it was.
    pub fn is_new(&mut self, pass: &mut LogPass, entry: &LogEntry) -> bool {
        let is_new = self.keys.insert(pass.key(entry));
        if self.keys.len() > REMEMBERED {
            self.keys.drain(..REMEMBERED / 2);
        }
        is_new
    }
}

impl LogPass {
    /// The entry's ID; without one, its content and the number of equal entries before it. A pass starts at a point
    /// in time and has all entries of that moment, so the number is the same in every pass.
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
        let mut shown = ShownEntries::default();
        let mut read = |entries: &[LogEntry]| {
            let mut reading = LogPass::default();
            entries.iter().map(|entry| shown.is_new(&mut reading, entry)).collect::<Vec<_>>()
        };
        assert_eq!(read(&[entry(Some("1"), "a"), entry(Some("2"), "a")]), [true, true]);
        assert_eq!(read(&[entry(Some("2"), "a"), entry(Some("3"), "a")]), [false, true]);
        assert_eq!(read(&[entry(None, "a"), entry(None, "a"), entry(None, "b")]), [true, true, true]);
        assert_eq!(read(&[entry(None, "a"), entry(None, "a"), entry(None, "a")]), [false, false, true]);
    }
}
