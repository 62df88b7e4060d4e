//! Pushed images of the database: push tokens, manifests and tags. Blobs are files beside it.

use std::time::Duration;

use agentcli::api::time;
use rusqlite::{OptionalExtension as _, params};

use super::access::digest;
use super::{Broken, Tx};

/// Maximum number of push tokens of a deployment; the oldest are removed.
const MAX_TOKENS: i64 = 50;

/// The condition on a revision whose image is needed: it is kept, in progress, active, or the latest, which may be redeployed.
const NEEDED: &str = "(revisions.image IS NOT NULL
    OR revisions.status IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
    OR revisions.id = (SELECT record ->> '$.latest_revision_id' FROM deployments WHERE id = revisions.deployment)
    OR revisions.id = (SELECT active FROM deployments WHERE id = revisions.deployment))
    AND NOT EXISTS (SELECT 1 FROM deployments WHERE id = revisions.deployment AND deleted)";

/// A manifest of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
    /// Media type.
    pub(crate) kind: String,
    pub(crate) content: Vec<u8>,
    /// Whether a revision needs it.
    pub(crate) is_needed: bool,
    /// Milliseconds since 1970.
    pub(crate) made: i64,
}

impl Tx<'_> {
    /// Adds a push token of a deployment, and removes those that have expired.
    pub(crate) fn add_push_token(
        &self,
        deployment: &str,
        token: &str,
        valid: Duration,
    ) -> Result<(), Broken> {
        let now = time::now();
        let until = now.saturating_add(i64::try_from(valid.as_millis()).unwrap_or(i64::MAX));
        self.db.execute("DELETE FROM push_tokens WHERE until <= ?1", [now])?;
        self.db.execute(
            "INSERT INTO push_tokens (token, deployment, until) VALUES (?1, ?2, ?3)",
            params![digest(token.as_bytes()), deployment, until],
        )?;
        self.db.execute(
            "DELETE FROM push_tokens WHERE deployment = ?1 AND number NOT IN
             (SELECT number FROM push_tokens WHERE deployment = ?1 ORDER BY number DESC LIMIT ?2)",
            params![deployment, MAX_TOKENS],
        )?;
        Ok(())
    }

    /// ID of the deployment that a valid push token is for. The index finds a digest, of which a wrong token shares no
    /// predictable part.
    pub(crate) fn push_token(&self, token: &str) -> Result<Option<String>, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT deployment FROM push_tokens JOIN deployments ON deployments.id = push_tokens.deployment
             WHERE token = ?1 AND until > ?2 AND NOT deleted",
        )?;
        let found =
            statement.query_row(params![digest(token.as_bytes()), time::now()], |row| row.get(0)).optional();
        Ok(found?)
    }

    /// ID of the deployment of this name.
    pub(crate) fn deployment_named(&self, name: &str) -> Result<Option<String>, Broken> {
        let sql = "SELECT id FROM deployments WHERE name = ?1 AND NOT deleted";
        Ok(self.db.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
    }

    /// The manifest of a deployment by its digest, or by a tag.
    pub(crate) fn manifest(&self, deployment: &str, reference: &str) -> Result<Option<Manifest>, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT digest, kind, content, made FROM manifests WHERE deployment = ?1
             AND (digest = ?2 OR digest = (SELECT digest FROM tags WHERE deployment = ?1 AND tag = ?2))",
        )?;
        let found = statement.query_row([deployment, reference], |row| {
            let digest = row.get(0)?;
            let kind = row.get(1)?;
            let content = row.get(2)?;
            let made = row.get(3)?;
            Ok(Manifest { digest, kind, content, is_needed: true, made })
        });
        Ok(found.optional()?)
    }

    /// All manifests of a deployment.
    pub(crate) fn manifests(&self, deployment: &str) -> Result<Vec<Manifest>, Broken> {
        let sql = format!(
            "SELECT digest, kind, content, made, EXISTS (
                SELECT 1 FROM revisions WHERE revisions.deployment = manifests.deployment AND {NEEDED}
                AND instr(revisions.record ->> '$.source_revision_config.image_uri', manifests.digest) > 0
             ) FROM manifests WHERE deployment = ?1"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([deployment], |row| {
            let digest = row.get(0)?;
            let kind = row.get(1)?;
            let content = row.get(2)?;
            Ok(Manifest { digest, kind, content, made: row.get(3)?, is_needed: row.get(4)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Number of manifests of a deployment.
    pub(crate) fn manifest_count(&self, deployment: &str) -> Result<usize, Broken> {
        let mut statement = self.db.prepare_cached("SELECT count(*) FROM manifests WHERE deployment = ?1")?;
        Ok(usize::try_from(statement.query_row([deployment], |row| row.get::<_, i64>(0))?)
            .unwrap_or_default())
    }

    /// Adds a manifest, with a tag that may have been another one's.
    pub(crate) fn add_manifest(
        &self,
        deployment: &str,
        manifest: &Manifest,
        tag: Option<&str>,
    ) -> Result<(), Broken> {
        let Manifest { digest, kind, content, made, .. } = manifest;
        self.db.execute(
            "INSERT INTO manifests (deployment, digest, kind, content, made) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET kind = excluded.kind, made = excluded.made",
            params![deployment, digest, kind, content, made],
        )?;
        if let Some(tag) = tag {
            self.db.execute(
                "INSERT INTO tags (deployment, tag, digest) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET digest = excluded.digest",
                [deployment, tag, digest],
            )?;
        }
        Ok(())
    }

    /// Removes a manifest with its tags.
    pub(crate) fn remove_manifest(&self, deployment: &str, digest: &str) -> Result<(), Broken> {
        let sql = "DELETE FROM manifests WHERE deployment = ?1 AND digest = ?2";
        self.db.execute(sql, [deployment, digest])?;
        Ok(())
    }

    /// Whether a deployment is being removed.
    pub(crate) fn is_deleted(&self, deployment: &str) -> Result<bool, Broken> {
        let sql = "SELECT 1 FROM deployments WHERE id = ?1 AND deleted";
        Ok(self.db.prepare_cached(sql)?.exists([deployment])?)
    }

    /// The name and the tags of a deleted deployment, unless another one has its name.
    pub(crate) fn deleted_tags(&self, deployment: &str) -> Result<Option<(String, Vec<String>)>, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT name, tag FROM deployments AS own LEFT JOIN tags ON tags.deployment = own.id
             WHERE own.id = ?1 AND deleted
             AND NOT EXISTS (SELECT 1 FROM deployments WHERE name = own.name AND NOT deleted)",
        )?;
        let rows = statement.query_map([deployment], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows: Vec<(String, Option<String>)> = rows.collect::<rusqlite::Result<_>>()?;
        let name = rows.first().map(|(name, _)| name.clone());
        Ok(name.map(|name| (name, rows.into_iter().filter_map(|(_, tag)| tag).collect())))
    }

    /// IDs of all deployments, those that are being deleted included.
    pub(crate) fn deployment_ids(&self) -> Result<Vec<String>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT id FROM deployments")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Records the name by which the image of a revision is pulled, before it is.
    pub(crate) fn set_pulled(&self, revision: &str, image: &str) -> Result<(), Broken> {
        self.db.execute("UPDATE revisions SET pulled = ?2 WHERE id = ?1", [revision, image])?;
        Ok(())
    }

    /// The names by which images of a deployment were pulled, and which no revision on this host needs.
    pub(crate) fn unused_names(&self, deployment: &str) -> Result<Vec<String>, Broken> {
        let sql = format!(
            "SELECT DISTINCT pulled FROM revisions AS own WHERE deployment = ?1 AND pulled IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM revisions WHERE revisions.pulled = own.pulled AND {NEEDED})"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map([deployment], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Records that a name by which images were pulled is removed.
    pub(crate) fn forget_name(&self, deployment: &str, name: &str) -> Result<(), Broken> {
        let sql = "UPDATE revisions SET pulled = NULL WHERE deployment = ?1 AND pulled = ?2";
        self.db.execute(sql, [deployment, name])?;
        Ok(())
    }
}
