//! Upload addresses of the database. The archives are files beside it.

use std::time::Duration;

use agentcli::api::time;
use rusqlite::{OptionalExtension as _, params};
use subtle::ConstantTimeEq as _;

use super::access::digest;
use super::{Broken, Tx};

/// Maximum numbers of archives and of open upload addresses of a deployment; the oldest are removed.
const KEPT: i64 = 5;

/// Validity of an upload address.
const VALID: Duration = Duration::from_secs(3600);

/// The condition of an upload that no revision names: the archive of a revision is not replaced.
const UNUSED: &str = "NOT EXISTS (
    SELECT 1 FROM revisions WHERE revisions.deployment = uploads.deployment
    AND instr(revisions.record ->> '$.source_revision_config.source_tarball_path', uploads.id) > 0
)";

impl Tx<'_> {
    /// Adds an upload address, and returns the archives to remove: the oldest, unless the latest or the active revision
    /// uses them.
    pub(crate) fn expect_upload(
        &self,
        deployment: &str,
        id: &str,
        token: &str,
    ) -> Result<Vec<String>, Broken> {
        self.db.execute(
            "INSERT INTO uploads (id, deployment, token, made) VALUES (?1, ?2, ?3, ?4)",
            params![id, deployment, digest(token.as_bytes()), time::now()],
        )?;
        // Counted separately, so that aborted uploads remove no archive.
        let mut statement = self.db.prepare_cached(
            "DELETE FROM uploads WHERE id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER (PARTITION BY has_file ORDER BY number DESC) AS age
                    FROM uploads WHERE deployment = ?1
                ) WHERE age > ?2
             ) AND NOT EXISTS (
                SELECT 1 FROM revisions JOIN deployments ON deployments.id = revisions.deployment
                WHERE revisions.deployment = ?1
                AND revisions.id IN (
                    deployments.record ->> '$.latest_revision_id', deployments.record ->> '$.active_revision_id'
                )
                AND instr(revisions.record ->> '$.source_revision_config.source_tarball_path', uploads.id) > 0
             ) RETURNING id",
        )?;
        let removed = statement.query_map(params![deployment, KEPT], |row| row.get(0))?;
        Ok(removed.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether an archive was received at an upload address of a deployment, if there is that address.
    pub(crate) fn is_received(&self, deployment: &str, id: &str) -> Result<Option<bool>, Broken> {
        let mut statement =
            self.db.prepare_cached("SELECT has_file FROM uploads WHERE id = ?1 AND deployment = ?2")?;
        Ok(statement.query_row([id, deployment], |row| row.get(0)).optional()?)
    }

    /// The IDs of all uploads.
    pub(crate) fn uploads(&self) -> Result<Vec<String>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT id FROM uploads")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether `token` permits the upload now.
    pub(crate) fn may_upload(&self, id: &str, token: &str) -> Result<bool, Broken> {
        let sql = format!("SELECT token, made FROM uploads WHERE id = ?1 AND {UNUSED}");
        let mut statement = self.db.prepare_cached(&sql)?;
        let found = statement.query_row([id], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?)));
        let Some((known, made)) = found.optional()? else { return Ok(false) };
        let is_valid = time::now().saturating_sub(made) < VALID.as_millis() as i64;
        Ok(is_valid && bool::from(known.ct_eq(&digest(token.as_bytes()))))
    }

    /// Records that an archive of `size` bytes was received, unless its address was removed or a revision names it; returns
    /// whether it did. The archive must be moved into its place in the same transaction.
    pub(crate) fn received(&self, id: &str, size: u64) -> Result<bool, Broken> {
        let sql = format!("UPDATE uploads SET has_file = 1, size = ?2 WHERE id = ?1 AND {UNUSED}");
        Ok(self.db.execute(&sql, params![id, i64::try_from(size).unwrap_or(i64::MAX)])? > 0)
    }

    /// ID of the tenant of an upload, and the size of the archive that it has.
    pub(crate) fn upload_owner(&self, id: &str) -> Result<(String, u64), Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT tenant, size FROM uploads JOIN deployments ON deployments.id = uploads.deployment
             WHERE uploads.id = ?1",
        )?;
        let found = statement.query_row([id], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())));
        Ok(found.optional()?.unwrap_or_default())
    }

    /// Records the sizes of archives that an older version received.
    pub(crate) fn measure_uploads(&self, size: impl Fn(&str) -> u64) -> Result<(), Broken> {
        let mut unknown = self.db.prepare("SELECT id FROM uploads WHERE has_file AND size = 0")?;
        let ids: Vec<String> = unknown.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for id in ids {
            let size = i64::try_from(size(&id)).unwrap_or(i64::MAX);
            self.db.execute("UPDATE uploads SET size = ?2 WHERE id = ?1", params![id, size])?;
        }
        Ok(())
    }
}
