//! Reading a log: the newest entries, then new ones.

use super::pods::{self, time_of};
use crate::api::LogSource;
use crate::api::time;
use crate::api::wire::{Cursor, LogEntry, LogOrder, LogPage, LogRequest};
use crate::cli::command::deploy::target::Target;
use crate::cli::env::Env;
use crate::error::Error;
use crate::ship::{LogPass, ShownEntries};

/// Number of entries per request.
const PAGE: u32 = 100;

/// Maximum number of pages of one pass.
const MAX_PAGES: usize = 1000;

/// Time by which entries may arrive late, in milliseconds.
const LATE: i64 = 5000;

/// A log, and a filter of its entries.
pub(super) struct Log {
    pub(super) deployment_id: String,
    pub(super) source: LogSource,
    pub(super) filter: LogRequest,
    /// Whether new entries are read, too.
    pub(super) is_followed: bool,
}

/// Reads a log.
pub(super) struct Reader {
    log: Log,
    shown: ShownEntries,
    /// Time of the newest entry that was read.
    last: Option<String>,
}

impl Reader {
    pub(super) fn new(log: Log) -> Self {
        Self { log, shown: ShownEntries::default(), last: None }
    }

    /// The newest entries, at most `limit`, oldest first. If the log is followed, all entries shortly before the last are
    /// read, since [`Reader::next`] reads them again.
    pub(super) fn newest(&mut self, target: &mut Target<'_>, limit: u32) -> Result<Vec<LogEntry>, Error> {
        let mut found = Vec::new();
        let mut cursor = None;
        let most = limit as usize;
        // A cluster has one page.
        let page = if matches!(target, Target::Cluster(_)) { limit.max(PAGE) } else { PAGE };
        let mut pages = Pages::default();
        loop {
            let left = most.saturating_sub(found.len()) as u32;
            let request = LogRequest {
                limit: Some(if left == 0 { page } else { left.min(page) }),
                order: Some(LogOrder::Descending),
                offset: cursor.clone(),
                ..self.log.filter.clone()
            };
            let (logs, next) = pages.turn(self.page(target, request)?);
            found.extend(logs);
            cursor = next;
            let is_enough = found.len() >= most && !(self.log.is_followed && are_recent(&found));
            if cursor.is_none() || is_enough {
                break;
            }
        }
        found.reverse();
        let mut pass = LogPass::default();
        found.retain(|entry| self.shown.is_new(&mut pass, entry));
        self.last = found.iter().filter_map(time_of).fold(None, later);
        Ok(found.split_off(found.len().saturating_sub(most)))
    }

    /// Shows the new entries, in order and each once. Entries shortly before the last one are read again, since some may
    /// have arrived late.
    pub(super) fn next(
        &mut self,
        target: &mut Target<'_>,
        mut show: impl FnMut(&mut Env, Vec<LogEntry>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let start = self.log.filter.start_time.clone();
        let since = match self.last.as_deref().map(shortly_before) {
            Some(since) => later(start, since),
            None => start,
        };
        let (mut pass, mut cursor) = (LogPass::default(), None);
        let mut pages = Pages::default();
        loop {
            let request = LogRequest {
                limit: Some(PAGE),
                order: Some(LogOrder::Ascending),
                start_time: since.clone(),
                offset: cursor.clone(),
                ..self.log.filter.clone()
            };
            let (mut new, next) = pages.turn(self.page(target, request)?);
            new.retain(|entry| self.shown.is_new(&mut pass, entry));
            self.last = new.iter().filter_map(time_of).fold(self.last.take(), later);
            show(target.env(), new)?;
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Whether the log is complete, as that of a finished build.
    pub(super) fn is_over(&self, target: &mut Target<'_>) -> Result<bool, Error> {
        let Log { deployment_id, source: LogSource::Build(revision_id), .. } = &self.log else {
            return Ok(false);
        };
        let Target::Service(service) = target else { return Ok(true) };
        let revision = service.call(async |client| client.revision(deployment_id, revision_id).await)?;
        Ok(revision.status.is_built())
    }

    /// A page. Its offset is none after the last page, which is empty or has no other offset than was requested.
    fn page(&self, target: &mut Target<'_>, request: LogRequest) -> Result<LogPage, Error> {
        let Log { deployment_id, source, .. } = &self.log;
        let mut page = match target {
            Target::Service(service) => {
                service.call(async |client| client.logs(deployment_id, source, &request).await)?
            }
            Target::Cluster(cluster) => pods::page(cluster, deployment_id, source, &request)?,
        };
        page.next_offset =
            page.next_offset.filter(|next| !page.logs.is_empty() && request.offset.as_ref() != Some(next));
        Ok(page)
    }
}

/// The pages of one pass over a log.
#[derive(Default)]
struct Pages {
    count: usize,
    last: Vec<LogEntry>,
}

impl Pages {
    /// The entries of the next page, and the offset of the one after it. There is none after a page that repeats the one
    /// before it, whatever its offset, nor after very many, so that a service whose log has no end is not asked in a
    /// loop.
    fn turn(&mut self, page: LogPage) -> (Vec<LogEntry>, Option<Cursor>) {
        self.count += 1;
        if page.logs == self.last {
            return (Vec::new(), None);
        }
        self.last.clone_from(&page.logs);
        (page.logs, page.next_offset.filter(|_| self.count < MAX_PAGES))
    }
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
