//! Logs of the database.

use agentcli::api::time;
use agentcli::api::wire::{LogEntry, LogLevel, Object, Timestamp};
use rusqlite::params;
use rusqlite::types::Value as Sql;

use super::{Broken, Tx};

/// Maximum number of entries of a log; the oldest are removed.
const LENGTH: i64 = 10_000;

/// Number of revisions of a deployment, the newest, whose logs are kept; others only while they are active or have an image.
const KEPT: i64 = 20;

/// The type of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    Build,
    Deploy,
}

/// A log entry. Numbers increase over all logs.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) milliseconds: i64,
    pub(crate) level: LogLevel,
    pub(crate) message: String,
}

impl Line {
    /// The entry in responses.
    pub(crate) fn entry(self) -> LogEntry {
        LogEntry {
            id: Some(format!("{:016x}", self.number)),
            timestamp: Some(Timestamp::Milliseconds(self.milliseconds)),
            level: Some(self.level),
            message: Some(self.message),
            other: Object::new(),
        }
    }
}

impl Tx<'_> {
    /// Adds an entry to the log of a revision, unless the revision was removed.
    pub(crate) fn log(
        &self,
        revision: &str,
        kind: LogKind,
        level: &LogLevel,
        message: &str,
    ) -> Result<(), Broken> {
        self.log_at(revision, kind, level, message, time::now())
    }

    /// The same with its time, in milliseconds since 1970.
    pub(crate) fn log_at(
        &self,
        revision: &str,
        kind: LogKind,
        level: &LogLevel,
        message: &str,
        time: i64,
    ) -> Result<(), Broken> {
        let added = self.db.execute(
            "INSERT INTO logs (revision, kind, time, level, message)
             SELECT number, ?2, ?3, ?4, ?5 FROM revisions WHERE id = ?1",
            params![revision, kind as i64, time, level.word(), message],
        )?;
        let number = self.db.last_insert_rowid();
        // Not at each entry: counting takes longer than adding.
        if added > 0 && number % 100 == 0 {
            self.trim(number)?;
        }
        Ok(())
    }

    /// The time of the last entry of a container of a revision, in nanoseconds since 1970; 0 without any.
    pub(crate) fn logged_until(&self, revision: &str, container: &str) -> Result<i64, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT coalesce(max(time), 0) FROM outputs
             WHERE container = ?2 AND revision = (SELECT number FROM revisions WHERE id = ?1)",
        )?;
        Ok(statement.query_row([revision, container], |row| row.get(0))?)
    }

    /// Records that the output of a container was read up to `time`; returns whether it was not.
    pub(crate) fn read_until(&self, revision: &str, container: &str, time: i64) -> Result<bool, Broken> {
        let mut statement = self.db.prepare_cached(
            "INSERT INTO outputs (revision, container, time) SELECT number, ?2, ?3 FROM revisions WHERE id = ?1
             ON CONFLICT (revision, container) DO UPDATE SET time = excluded.time WHERE time < excluded.time",
        )?;
        Ok(statement.execute(params![revision, container, time])? > 0)
    }

    /// Removes the logs of the revisions of a deployment that are neither among the newest nor active nor kept.
    pub(crate) fn drop_old_logs(&self, deployment: &str) -> Result<(), Broken> {
        self.db.execute(
            "DELETE FROM logs WHERE revision IN (
                SELECT number FROM revisions WHERE deployment = ?1 AND image IS NULL
                AND ordinal <= (SELECT max(ordinal) FROM revisions WHERE deployment = ?1) - ?2
                AND id IS NOT (SELECT active FROM deployments WHERE id = ?1)
             )",
            params![deployment, KEPT],
        )?;
        Ok(())
    }

    /// Removes the oldest entries of the log of the entry `number`.
    fn trim(&self, number: i64) -> Result<(), Broken> {
        self.db.execute(
            "DELETE FROM logs WHERE number <= (
                SELECT other.number FROM logs AS own JOIN logs AS other
                ON other.revision = own.revision AND other.kind = own.kind
                WHERE own.number = ?1 ORDER BY other.number DESC LIMIT 1 OFFSET ?2
             ) AND (revision, kind) = (SELECT revision, kind FROM logs WHERE number = ?1)",
            params![number, LENGTH],
        )?;
        Ok(())
    }

    /// At most `limit` entries of a revision, or of all revisions of a deployment, that `wanted` selects, in their order.
    pub(crate) fn read_log(
        &self,
        deployment: &str,
        revision: Option<&str>,
        kind: LogKind,
        order: Order,
        limit: usize,
        wanted: impl Fn(&Line) -> bool,
    ) -> Result<Vec<Line>, Broken> {
        let (compare, direction, from) = match order {
            Order::OldestAfter(number) => (">", "ASC", number),
            Order::NewestBefore(number) => ("<", "DESC", number),
        };
        let sql = format!(
            "SELECT logs.number, time, level, message FROM logs JOIN revisions ON revisions.number = logs.revision
             WHERE revisions.deployment = ?1 AND (?2 IS NULL OR revisions.id = ?2) AND kind = ?3
             AND logs.number {compare} ?4 ORDER BY logs.number {direction}"
        );
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let revision = revision.map_or(Sql::Null, |id| Sql::Text(id.to_owned()));
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params![deployment, revision, kind as i64, from], |row| {
            let level: String = row.get(2)?;
            Ok(Line {
                number: row.get::<_, i64>(0)?.unsigned_abs(),
                milliseconds: row.get(1)?,
                level: LogLevel::from(&*level),
                message: row.get(3)?,
            })
        })?;
        let mut lines = Vec::new();
        for line in rows {
            let line = line?;
            if wanted(&line) {
                lines.push(line);
                if lines.len() == limit {
                    break;
                }
            }
        }
        Ok(lines)
    }
}

/// The order of the entries of a page, and the number that they begin after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    OldestAfter(u64),
    NewestBefore(u64),
}
