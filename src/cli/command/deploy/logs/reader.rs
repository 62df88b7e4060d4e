//! Reading a log: the newest entries, then new ones.

use crate::api::time;
use crate::api::wire::{Cursor, LogEntry, LogLevel, LogOrder, LogPage, LogRequest};

use crate::cli::env::Env;
use crate::cli::service::Service;
use crate::error::Error;
use crate::ship::{Reading, Shown};

/// Number of entries per request.
const PAGE: u32 = 100;

/// Time by which entries may arrive late, in milliseconds.
const LATE: i64 = 5000;

/// A log, and a filter of its entries.
pub(super) struct Log {
    pub(super) deployment_id: String,
    pub(super) revision_id: Option<String>,
    pub(super) is_build: bool,
    pub(super) level: Option<LogLevel>,
    pub(super) query: Option<String>,
    pub(super) start_time: Option<String>,
    pub(super) end_time: Option<String>,
    /// Whether new entries are read, too.
    pub(super) is_followed: bool,
}

/// Reads a log.
pub(super) struct Reader {
    log: Log,
    shown: Shown,
    /// Time of the newest entry that was read.
    last: Option<String>,
}

impl Reader {
    pub(super) fn new(log: Log) -> Self {
        Self { log, shown: Shown::default(), last: None }
    }

    /// The newest entries, at most `limit`, oldest first. If the log is followed, all entries shortly before the last are
    /// read, since [`Reader::next`] reads them again.
    pub(super) fn newest(
        &mut self,
        env: &mut Env,
        service: &mut Service,
        limit: u32,
    ) -> Result<Vec<LogEntry>, Error> {
        let (mut found, mut cursor, most) = (Vec::new(), None, limit as usize);
        loop {
            let left = most.saturating_sub(found.len()) as u32;
            let request = LogRequest {
                limit: Some(if left == 0 { PAGE } else { left.min(PAGE) }),
                order: Some(LogOrder::Descending),
                start_time: self.log.start_time.clone(),
                offset: cursor.clone(),
                ..self.request()
            };
            let page = self.page(env, service, &request)?;
            let is_last = page.logs.is_empty();
            found.extend(page.logs);
            let next = advanced(cursor, page.next_offset);
            let is_enough = found.len() >= most && !(self.log.is_followed && are_recent(&found));
            if is_last || next.is_none() || is_enough {
                break;
            }
            cursor = next;
        }
        found.reverse();
        let mut reading = Reading::default();
        found.retain(|entry| self.shown.is_new(&mut reading, entry));
        self.last = found.iter().filter_map(time_of).fold(None, later);
        Ok(found.split_off(found.len().saturating_sub(most)))
    }

    /// Shows the new entries, in order and each once. Entries shortly before the last one are read again, since some may
    /// have arrived late.
    pub(super) fn next(
        &mut self,
        env: &mut Env,
        service: &mut Service,
        mut show: impl FnMut(&mut Env, Vec<LogEntry>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let start = self.log.start_time.clone();
        let since = match self.last.as_deref().map(shortly_before) {
            Some(since) => later(start, since),
            None => start,
        };
        let (mut reading, mut cursor) = (Reading::default(), None);
        loop {
            let request = LogRequest {
                limit: Some(PAGE),
                order: Some(LogOrder::Ascending),
                start_time: since.clone(),
                offset: cursor.clone(),
                ..self.request()
            };
            let page = self.page(env, service, &request)?;
            let is_last = page.logs.is_empty();
            let mut new = page.logs;
            new.retain(|entry| self.shown.is_new(&mut reading, entry));
            self.last = new.iter().filter_map(time_of).fold(self.last.take(), later);
            show(env, new)?;
            let next = advanced(cursor, page.next_offset);
            if is_last || next.is_none() {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// Whether the log is complete, as that of a finished build.
    pub(super) fn is_over(&self, env: &mut Env, service: &mut Service) -> Result<bool, Error> {
        let Log { deployment_id, revision_id: Some(revision_id), is_build: true, .. } = &self.log else {
            return Ok(false);
        };
        let revision = service.call(env, async |client| client.revision(deployment_id, revision_id).await)?;
        Ok(revision.status.is_built())
    }

    fn request(&self) -> LogRequest {
        LogRequest {
            level: self.log.level.clone(),
            query: self.log.query.clone(),
            end_time: self.log.end_time.clone(),
            ..LogRequest::default()
        }
    }

    fn page(&self, env: &mut Env, service: &mut Service, request: &LogRequest) -> Result<LogPage, Error> {
        let Log { deployment_id, revision_id, is_build, .. } = &self.log;
        service.call(env, async |client| match revision_id {
            Some(revision_id) if *is_build => client.build_logs(deployment_id, revision_id, request).await,
            revision_id => client.deploy_logs(deployment_id, revision_id.as_deref(), request).await,
        })
    }
}

/// The time of an entry.
fn time_of(entry: &LogEntry) -> Option<String> {
    entry.timestamp.as_ref().map(ToString::to_string)
}

/// Whether all of `entries`, newest first, are so recent that they are read again.
fn are_recent(entries: &[LogEntry]) -> bool {
    let [newest, oldest] = [entries.first(), entries.last()].map(|entry| entry.and_then(time_of));
    let (Some(newest), Some(oldest)) = (newest, oldest) else { return false };
    newest == oldest
        || time::parse(&oldest).is_some_and(|it| Some(it) >= time::parse(&shortly_before(&newest)))
}

/// The time since which entries are read again; an invalid time stays unchanged.
fn shortly_before(time: &str) -> String {
    time::parse(time).map_or_else(|| time.to_owned(), |time| time::format(time - LATE))
}

/// The later of two times. An invalid time is earlier; if both are invalid, the second is returned.
fn later(one: Option<String>, other: String) -> Option<String> {
    let parsed = |time: &String| time::parse(time);
    match one.filter(|one| parsed(one) > parsed(&other)) {
        Some(one) => Some(one),
        None => Some(other),
    }
}

/// The cursor of the next page, unless it is that of the current one.
fn advanced(cursor: Option<Cursor>, next: Option<Cursor>) -> Option<Cursor> {
    next.filter(|next| cursor.as_ref() != Some(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_may_arrive_late_are_read_again() {
        assert_eq!(shortly_before("2026-03-08T13:00:01+01:00"), "2026-03-08T11:59:56.000Z");
        assert_eq!(shortly_before("soon"), "soon");
    }

    #[test]
    fn the_later_of_two_times() {
        let (early, late) = ("2026-03-08T13:00:00+01:00", "2026-03-08T12:00:01Z");
        for (one, other, expected) in
            [(late, early, late), (early, late, late), ("soon", early, early), (early, "soon", early)]
        {
            let found = later(Some(one.to_owned()), other.to_owned());
            assert_eq!(found.as_deref(), Some(expected), "{one} {other}");
        }
        assert_eq!(later(None, early.to_owned()).as_deref(), Some(early));
    }
}
