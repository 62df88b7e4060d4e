//! Logs of the database.

use std::borrow::Cow;

use agentcli::api::time;
use agentcli::api::wire::{LogEntry, LogLevel, Object, Timestamp};
use rusqlite::params;
use rusqlite::types::Value as Sql;

use super::quota::Quota;
use super::{Broken, Tx};

/// Maximum number of entries of a log, and of their bytes; the oldest are removed.
const LENGTH: i64 = 10_000;
const BYTES: i64 = 8 << 20;

/// Numbers of entries and bytes beyond the maximum at which the oldest are removed: together, since finding them takes longer
/// than adding one.
const SLACK: i64 = 100;
const SLACK_BYTES: i64 = 512 << 10;

/// Maximum length of an entry, in bytes; the rest is cut off.
const LINE: usize = 16 << 10;

/// Maximum size of the entries of a page, in bytes; the rest is on the next one.
const PAGE: usize = 4 << 20;

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

/// The container that a line is of.
pub(crate) struct LineOrigin {
    pub(crate) container: String,
    /// The time of the line in nanoseconds since 1970.
    pub(crate) time: i64,
    /// Whether it is older than the line before it.
    pub(crate) is_set_back: bool,
    /// The time at which it was read, in nanoseconds since 1970.
    pub(crate) now: i64,
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
            params![revision, kind as i64, time, level.word(), cut(message)],
        )?;
        if added > 0 { self.trim(self.db.last_insert_rowid()) } else { Ok(()) }
    }

    /// The time of the last entry of a container of a revision, in nanoseconds since 1970; 0 without any.
    pub(crate) fn logged_until(&self, revision: &str, container: &str) -> Result<i64, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT coalesce(max(time), 0) FROM outputs
             WHERE container = ?2 AND revision = (SELECT number FROM revisions WHERE id = ?1)",
        )?;
        Ok(statement.query_row([revision, container], |row| row.get(0))?)
    }

    /// Records that the output of a container was read up to a line; returns whether the line is new.
    ///
    /// Lines of a container come in order, so one that is older than the last is one that was read before, unless the clock
    /// was set back in between. Then those from the future were read before.
    pub(crate) fn read_until(&self, revision: &str, line: &LineOrigin) -> Result<bool, Broken> {
        let mut statement = self.db.prepare_cached(
            "INSERT INTO outputs (revision, container, time, highest)
             SELECT number, ?2, ?3, ?3 FROM revisions WHERE id = ?1
             ON CONFLICT (revision, container) DO UPDATE
             SET time = excluded.time, highest = max(highest, excluded.time)
             WHERE (time < excluded.time OR ?4) AND (excluded.time > highest OR excluded.time <= ?5)",
        )?;
        let LineOrigin { container, time, is_set_back, now } = line;
        Ok(statement.execute(params![revision, container, time, is_set_back, now])? > 0)
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

    /// Removes the oldest entries of the log of the entry `number`, if it is too long.
    fn trim(&self, number: i64) -> Result<(), Broken> {
        let mut size = self.db.prepare_cached(
            "SELECT revision, kind, entries, bytes FROM log_sizes
             WHERE (revision, kind) = (SELECT revision, kind FROM logs WHERE number = ?1)",
        )?;
        let (revision, kind, entries, bytes): (i64, i64, i64, i64) =
            size.query_row([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        if entries <= LENGTH + SLACK && bytes <= BYTES + SLACK_BYTES {
            return Ok(());
        }
        self.db.execute(
            "DELETE FROM logs WHERE revision = ?1 AND kind = ?2 AND number <= (
                SELECT number FROM (
                    SELECT number, row_number() OVER newest AS place, sum(octet_length(message)) OVER newest AS bytes
                    FROM logs WHERE revision = ?1 AND kind = ?2
                    WINDOW newest AS (ORDER BY number DESC ROWS UNBOUNDED PRECEDING)
                ) WHERE place > ?3 OR bytes > ?4 ORDER BY number DESC LIMIT 1
             )",
            params![revision, kind, LENGTH, BYTES],
        )?;
        Ok(())
    }

    /// Removes the oldest entries of the largest logs of each tenant that has more than its quota.
    pub(crate) fn keep_log_quotas(&self) -> Result<(), Broken> {
        let sql =
            "SELECT tenant, sum(bytes) FROM log_sizes JOIN revisions ON revisions.number = log_sizes.revision
                   JOIN deployments ON deployments.id = revisions.deployment GROUP BY tenant";
        let mut totals = self.db.prepare_cached(sql)?;
        let rows = totals.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        for (tenant, total) in rows.collect::<rusqlite::Result<Vec<_>>>()? {
            let mut total: i64 = total;
            let most = i64::try_from(self.quota(&tenant, Quota::LogBytes)?).unwrap_or(i64::MAX);
            while total > most {
                total -= self.halve_largest_log(&tenant)?;
            }
        }
        Ok(())
    }

    /// Removes the older half of the entries of the largest log of a tenant that has logs; returns their size in bytes.
    fn halve_largest_log(&self, tenant: &str) -> Result<i64, Broken> {
        let mut largest = self.db.prepare_cached(
            "SELECT log_sizes.revision, kind, entries, bytes FROM log_sizes
             JOIN revisions ON revisions.number = log_sizes.revision
             JOIN deployments ON deployments.id = revisions.deployment
             WHERE tenant = ?1 AND entries > 0 ORDER BY bytes DESC LIMIT 1",
        )?;
        let (revision, kind, entries, bytes): (i64, i64, i64, i64) =
            largest.query_row([tenant], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        self.db.execute(
            "DELETE FROM logs WHERE revision = ?1 AND kind = ?2 AND number <= (
                SELECT number FROM logs WHERE revision = ?1 AND kind = ?2 ORDER BY number LIMIT 1 OFFSET ?3
             )",
            params![revision, kind, entries / 2],
        )?;
        let sql = "SELECT bytes FROM log_sizes WHERE revision = ?1 AND kind = ?2";
        let left: i64 = self.db.query_row(sql, [revision, kind], |row| row.get(0))?;
        Ok(bytes - left)
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
        let mut bytes = 0;
        for line in rows {
            let line = line?;
            if wanted(&line) {
                bytes += line.message.len();
                lines.push(line);
                if lines.len() == limit || bytes >= PAGE {
                    break;
                }
            }
        }
        Ok(lines)
    }
}

/// A message without what is beyond the maximum length.
pub(crate) fn cut(message: &str) -> Cow<'_, str> {
    if message.len() <= LINE {
        return message.into();
    }
    let kept = &message[..message.floor_char_boundary(LINE - 64)];
    format!("{kept}… ({} more bytes)", message.len() - kept.len()).into()
}

/// The order of the entries of a page, and the number that they begin after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    OldestAfter(u64),
    NewestBefore(u64),
}

#[cfg(test)]
impl Tx<'_> {
    /// Adds a tenant with a deployment and this many revisions, whose names start with that of the tenant.
    pub(crate) fn add_example(&self, tenant: &str, revisions: usize) -> Result<(), Broken> {
        self.execute(&format!("INSERT INTO tenants VALUES ('{tenant}', '{tenant}')"))?;
        self.execute(&format!(
            "INSERT INTO deployments (id, record, tags, secrets)
             VALUES ('{tenant}', '{{\"tenant_id\": \"{tenant}\", \"name\": \"{tenant}\"}}', '[]', x'')"
        ))?;
        (1..=revisions).try_for_each(|number| {
            self.execute(&format!(
                "INSERT INTO revisions (id, deployment, ordinal, record, secrets, grace)
                 VALUES ('{tenant}-{number}', '{tenant}', {number}, '{{}}', x'', 0)"
            ))
        })
    }

    /// Changes the database.
    pub(crate) fn execute(&self, sql: &str) -> Result<(), Broken> {
        Ok(self.db.execute_batch(sql)?)
    }

    /// Number and bytes of all entries of a revision, after a check that their size is recorded.
    pub(crate) fn log_size(&self, revision: &str) -> Result<(i64, i64), Broken> {
        let size = |sql: &str| self.db.query_row(sql, [revision], |row| Ok((row.get(0)?, row.get(1)?)));
        let counted = size(
            "SELECT count(*), coalesce(sum(octet_length(message)), 0) FROM logs
             WHERE revision = (SELECT number FROM revisions WHERE id = ?1)",
        )?;
        let recorded = size(
            "SELECT coalesce(sum(entries), 0), coalesce(sum(bytes), 0) FROM log_sizes
             WHERE revision = (SELECT number FROM revisions WHERE id = ?1)",
        )?;
        assert_eq!(counted, recorded, "{revision}");
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn change<T: Send + 'static>(
        store: &Store,
        change: impl FnOnce(&Tx<'_>) -> Result<T, Broken> + Send + 'static,
    ) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.change(change)).unwrap()
    }

    fn fill(tx: &Tx<'_>, revision: &str, entries: usize, size: usize) -> Result<(), Broken> {
        let text = "x".repeat(size);
        (0..entries).try_for_each(|_| tx.log_at(revision, LogKind::Deploy, &LogLevel::Info, &text, 0))
    }

    #[test]
    fn log_has_a_maximum_of_entries_and_of_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (short, long, other) = change(&store, |tx| {
            tx.add_example("a", 3)?;
            // Turn by turn: neither the numbers of one nor those of the other are all even.
            for _ in 0..(LENGTH + 2 * SLACK) / 2 {
                fill(tx, "a-1", 2, 10)?;
                fill(tx, "a-3", 1, 10)?;
            }
            fill(tx, "a-2", 2000, LINE)?;
            Ok((tx.log_size("a-1")?, tx.log_size("a-2")?, tx.log_size("a-3")?))
        });
        assert!((LENGTH..=LENGTH + SLACK).contains(&short.0), "{short:?}");
        assert!((BYTES - LINE as i64..=BYTES + SLACK_BYTES).contains(&long.1), "{long:?}");
        assert_eq!(other.0, (LENGTH + 2 * SLACK) / 2);
    }

    #[test]
    fn quota_of_a_tenant_costs_its_largest_logs_their_oldest_entries() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let sizes = change(&store, |tx| {
            tx.add_example("a", 3)?;
            tx.add_example("b", 1)?;
            tx.execute("INSERT INTO quotas VALUES ('a', 'log-bytes', 200000)")?;
            for (revision, entries) in [("a-1", 300), ("a-2", 20), ("a-3", 100), ("b-1", 400)] {
                fill(tx, revision, entries, 1000)?;
            }
            tx.keep_log_quotas()?;
            ["a-1", "a-2", "a-3", "b-1"]
                .iter()
                .map(|revision| tx.log_size(revision))
                .collect::<Result<Vec<_>, _>>()
        });
        let entries: Vec<i64> = sizes.iter().map(|(entries, _)| *entries).collect();
        assert!(entries[0] + entries[1] + entries[2] <= 200 && entries[0] > 50, "{entries:?}");
        assert_eq!((entries[1], entries[3]), (20, 400));
    }
}
