//! Which entries of a log were shown already.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::api::wire::{LogEntry, LogLevel};

/// So many are remembered: many more than are said in one moment.
const REMEMBERED: usize = 20_000;

/// Entries that were shown.
#[derive(Default)]
pub(in crate::cli::command::deploy) struct Seen {
    keys: HashSet<String>,
    order: VecDeque<String>,
}

/// The entries of one look at the log, so that equal ones are told apart by their number.
#[derive(Default)]
pub(in crate::cli::command::deploy) struct Look {
    counts: HashMap<String, usize>,
}

impl Seen {
    /// Whether it is new; from now on it is not.
    pub(in crate::cli::command::deploy) fn is_new(&mut self, look: &mut Look, entry: &LogEntry) -> bool {
        let key = look.key(entry);
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

impl Look {
    /// Its ID. Without one, what it says, and the how manieth of its kind in this look it is: looks begin at a moment,
    /// and have all that was said in it.
    fn key(&mut self, entry: &LogEntry) -> String {
        if let Some(id) = &entry.id {
            return format!("id {id}");
        }
        let level = entry.level.as_ref().map_or("", LogLevel::word);
        let message = entry.message.as_deref().unwrap_or_default();
        let key = format!("{} {level} {message}", when(entry).unwrap_or_default());
        let count = self.counts.entry(key.clone()).or_default();
        *count += 1;
        format!("{count} {key}")
    }
}

/// When it was said, as the service is asked for it.
pub(in crate::cli::command::deploy) fn when(entry: &LogEntry) -> Option<String> {
    entry.timestamp.as_ref().map(ToString::to_string)
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
    fn every_entry_is_new_once() {
        let mut seen = Seen::default();
        let mut look = |entries: &[LogEntry]| {
            let mut look = Look::default();
            entries.iter().map(|entry| seen.is_new(&mut look, entry)).collect::<Vec<_>>()
        };
        assert_eq!(look(&[entry(Some("1"), "a"), entry(Some("2"), "a")]), [true, true]);
        assert_eq!(look(&[entry(Some("2"), "a"), entry(Some("3"), "a")]), [false, true]);
        assert_eq!(look(&[entry(None, "a"), entry(None, "a"), entry(None, "b")]), [true, true, true]);
        assert_eq!(look(&[entry(None, "a"), entry(None, "a"), entry(None, "a")]), [false, false, true]);
    }
}
