//! The log of the pods of a deployment in a cluster, as a page of the service's form. kubectl filters by time only.

use super::without_prefix;
use crate::api::wire::{LogEntry, LogOrder, LogPage, LogRequest, Timestamp};
use crate::api::{LogSource, time};
use crate::cli::command::deploy::cluster::InCluster;
use crate::error::Error;

/// The only page of a request.
pub(super) fn page(
    cluster: &InCluster<'_>,
    name: &str,
    source: &LogSource,
    request: &LogRequest,
) -> Result<LogPage, Error> {
    let revision = match source {
        LogSource::Server(revision) => revision.as_deref(),
        LogSource::Build(_) => None,
    };
    let is_filtered = request.query.is_some() || request.level.is_some() || request.end_time.is_some();
    let is_newest = request.order == Some(LogOrder::Descending);
    let limit = request.limit.filter(|_| is_newest && !is_filtered);
    let since = request.start_time.as_deref();
    let lines = cluster.call(async |cluster| cluster.logs(name, revision, since, limit).await)?;
    let mut logs: Vec<LogEntry> =
        lines.lines().filter_map(entry).filter(|it| is_asked(it, request)).collect();
    logs.sort_by_key(time_of);
    if is_newest {
        logs.reverse();
    }
    Ok(LogPage { logs, ..LogPage::default() })
}

/// The time of an entry.
pub(super) fn time_of(entry: &LogEntry) -> Option<String> {
    entry.timestamp.as_ref().map(ToString::to_string)
}

/// The entry of a line that starts with its time; none of another line.
fn entry(line: &str) -> Option<LogEntry> {
    let (moment, message) = line.split_once(' ').unwrap_or((line, ""));
    time::parse(moment)?;
    Some(LogEntry {
        timestamp: Some(Timestamp::Text(moment.to_owned())),
        level: without_prefix(message).map(|(level, _)| level),
        message: Some(message.to_owned()),
        ..LogEntry::default()
    })
}

fn is_asked(entry: &LogEntry, request: &LogRequest) -> bool {
    let message = entry.message.as_deref().unwrap_or_default();
    request.query.as_ref().is_none_or(|query| message.contains(query))
        && request.level.as_ref().is_none_or(|level| entry.level.as_ref() == Some(level))
        && request.end_time.as_ref().is_none_or(|end| time_of(entry).as_ref() <= Some(end))
}
