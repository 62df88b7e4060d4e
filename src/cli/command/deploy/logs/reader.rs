//! Reading a log: the newest entries first of all, then what is said since.

use super::seen::{Look, Seen, when};
use crate::api::wire::{Cursor, LogEntry, LogLevel, LogOrder, LogPage, LogRequest};
use crate::cli::env::Env;
use crate::cli::service::Service;
use crate::error::Error;

/// How many entries are asked for at a time.
const PAGE: u32 = 100;

/// Whose log, and which part of it.
pub(super) struct Log {
    pub(super) deployment_id: String,
    pub(super) revision_id: Option<String>,
    pub(super) is_build: bool,
    pub(super) level: Option<LogLevel>,
    pub(super) query: Option<String>,
    pub(super) start_time: Option<String>,
    pub(super) end_time: Option<String>,
    /// Whether what is said later on is asked for, too.
    pub(super) is_followed: bool,
}

/// A log, and what of it was read.
pub(super) struct Reader {
    log: Log,
    seen: Seen,
    /// When the last of what was read was said.
    last: Option<String>,
}

impl Reader {
    pub(super) fn new(log: Log) -> Self {
        Self { log, seen: Seen::default(), last: None }
    }

    /// The newest entries, at most `limit`, the oldest of them first. Where it is followed, what was said in the same
    /// moment as the last of them is noted as well, for [`Reader::next`] asks for all of that again.
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
            let next = beyond(cursor, page.next_offset);
            let is_enough = found.len() >= most && !(self.log.is_followed && are_of_one_moment(&found));
            if is_last || next.is_none() || is_enough {
                break;
            }
            cursor = next;
        }
        found.reverse();
        let mut look = Look::default();
        found.retain(|entry| self.seen.is_new(&mut look, entry));
        self.last = found.iter().rev().find_map(when);
        Ok(found.split_off(found.len().saturating_sub(most)))
    }

    /// Shows what was said since, in order and each once: what was said in the last moment that was seen is asked for
    /// again, as more may have been said in it.
    pub(super) fn next(
        &mut self,
        env: &mut Env,
        service: &mut Service,
        mut show: impl FnMut(&mut Env, Vec<LogEntry>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let since = self.last.clone().or_else(|| self.log.start_time.clone());
        let (mut look, mut cursor) = (Look::default(), None);
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
            new.retain(|entry| self.seen.is_new(&mut look, entry));
            self.last = new.iter().rev().find_map(when).or_else(|| self.last.take());
            show(env, new)?;
            let next = beyond(cursor, page.next_offset);
            if is_last || next.is_none() {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// Whether nothing more will be said: a build has an end.
    pub(super) fn is_over(&self, env: &mut Env, service: &mut Service) -> Result<bool, Error> {
        let Log { deployment_id, revision_id: Some(revision_id), is_build: true, .. } = &self.log else {
            return Ok(false);
        };
        let revision = service.ask(env, async |client| client.revision(deployment_id, revision_id).await)?;
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
        service.ask(env, async |client| match revision_id {
            Some(revision_id) if *is_build => client.build_logs(deployment_id, revision_id, request).await,
            revision_id => client.deploy_logs(deployment_id, revision_id.as_deref(), request).await,
        })
    }
}

/// Whether the first and the last of them were said in the same moment.
fn are_of_one_moment(entries: &[LogEntry]) -> bool {
    let moments = [entries.first(), entries.last()].map(|entry| entry.and_then(when));
    moments[0].is_some() && moments[0] == moments[1]
}

/// Where the next page begins; a place that was there already is none.
fn beyond(cursor: Option<Cursor>, next: Option<Cursor>) -> Option<Cursor> {
    next.filter(|next| cursor.as_ref() != Some(next))
}
