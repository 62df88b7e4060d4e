//! The wanted state of the deployments that the reconciler has work with, and what it records.

use std::time::Duration;

use agentcli::api::time;
use agentcli::api::wire::{self, Deployment, DeploymentStatus, RevisionStatus, Secret, Source as From, Tier};
use rusqlite::{OptionalExtension as _, params};

use super::state::{Desired, Phase, Revision, Scale, Source};
use super::{Broken, Tx};
use crate::net::host_name::HostName;

/// Number of revisions that are considered, the newest; older ones only if they have an image or are in progress.
const CONSIDERED: i64 = 20;

/// Type of a deployment that scales to zero, in the public service.
const SCALE_TO_ZERO: &str = "dev_zero";

/// A revision that is worked on.
pub(crate) struct RevisionDetails {
    pub(crate) deployment: Deployment,
    pub(crate) revision: wire::Revision,
    /// Its number in the deployment, from 1.
    pub(crate) number: u64,
    /// Its own name of its image.
    pub(crate) image: Option<String>,
}

impl Tx<'_> {
    /// The deployments that have revisions or are being removed.
    pub(crate) fn desired(&self) -> Result<Vec<Desired>, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT record, deleted FROM deployments
             WHERE deleted OR record ->> '$.latest_revision_id' IS NOT NULL ORDER BY number",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let mut desired = Vec::new();
        for row in rows {
            let (record, is_deleted) = row?;
            desired.push(self.desired_of(serde_json::from_str(&record)?, is_deleted)?);
        }
        Ok(desired)
    }

    fn desired_of(&self, deployment: Deployment, is_deleted: bool) -> Result<Desired, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, ordinal, record, image, kept, attempts, error, grace FROM revisions
             WHERE deployment = ?1 AND (
                image IS NOT NULL OR id = ?2
                OR status IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
                OR ordinal > (SELECT max(ordinal) FROM revisions WHERE deployment = ?1) - ?3
             ) ORDER BY ordinal",
        )?;
        let active = deployment.active_revision_id.clone();
        let mut rows = statement.query(params![deployment.id, active, CONSIDERED])?;
        let mut revisions = Vec::new();
        let mut grace = Duration::ZERO;
        while let Some(row) = rows.next()? {
            let record: wire::Revision = serde_json::from_str(&row.get::<_, String>(2)?)?;
            grace = grace.max(Duration::from_secs(row.get::<_, u32>(7)?.into()));
            revisions.push(Revision {
                id: row.get(0)?,
                number: row.get::<_, i64>(1)?.unsigned_abs(),
                phase: Phase::from(&record.status),
                source: source(&record, row.get(4)?),
                // The recorder knows the host.
                tag: String::new(),
                image: row.get(3)?,
                attempts: row.get(5)?,
                last_error: row.get(6)?,
            });
        }
        let Deployment { id, tenant_id: tenant, name, source_config, .. } = deployment;
        let hosts = source_config.custom_url.iter().filter_map(|url| HostName::of_url(url)).collect();
        let (min, max) = source_config.resource_spec.unwrap_or_default().tier(Tier::Server).scale;
        let is_zero = source_config.deployment_type.is_some_and(|kind| kind.word() == SCALE_TO_ZERO);
        let min = min.unwrap_or(u32::from(!is_zero));
        let max = max.unwrap_or(min.max(1));
        let scale = Scale { min, max };
        Ok(Desired { id, tenant, name, hosts, is_deleted, scale, grace, revisions, active })
    }

    /// Whether there are new deployments.
    pub(crate) fn has_new(&self) -> Result<bool, Broken> {
        let sql = "SELECT 1 FROM deployments WHERE status = 'AWAITING_DATABASE'";
        Ok(self.db.prepare_cached(sql)?.exists([])?)
    }

    /// A revision with its number, its image and its deployment.
    pub(crate) fn details(&self, revision: &str) -> Result<Option<RevisionDetails>, Broken> {
        let mut statement = self
            .db
            .prepare_cached("SELECT deployment, ordinal, record, image FROM revisions WHERE id = ?1")?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get(3)?))
        };
        let Some((deployment, number, record, image)) = statement.query_row([revision], row).optional()?
        else {
            return Ok(None);
        };
        let Some(deployment) = self.any_deployment(&deployment)? else { return Ok(None) };
        let revision = serde_json::from_str(&record)?;
        Ok(Some(RevisionDetails { deployment, revision, number: number.unsigned_abs(), image }))
    }

    /// Marks new deployments as ready.
    pub(crate) fn prepare(&self) -> Result<(), Broken> {
        let mut statement =
            self.db.prepare_cached("SELECT record FROM deployments WHERE status = 'AWAITING_DATABASE'")?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        for record in rows {
            let mut deployment: Deployment = serde_json::from_str(&record?)?;
            deployment.status = DeploymentStatus::Ready;
            self.save(&mut deployment)?;
        }
        Ok(())
    }

    /// Changes the status of a revision by compare-and-set, and records the reason of a failure; returns whether it was
    /// changed.
    pub(crate) fn advance(
        &self,
        id: &str,
        from: Phase,
        to: Phase,
        reason: Option<&str>,
    ) -> Result<bool, Broken> {
        let mut statement = self.db.prepare_cached("SELECT record FROM revisions WHERE id = ?1")?;
        let found = statement.query_row([id], |row| row.get::<_, String>(0)).optional()?;
        let Some(found) = found else { return Ok(false) };
        let mut record: wire::Revision = serde_json::from_str(&found)?;
        if record.status != RevisionStatus::from(from) {
            return Ok(false);
        }
        record.status = to.into();
        record.updated_at = time::now_as_text();
        if let Some(reason) = reason {
            record.other.insert(wire::Revision::REASON.to_owned(), reason.into());
        }
        self.db.execute(
            "UPDATE revisions SET record = ?2 WHERE id = ?1",
            params![id, serde_json::to_string(&record)?],
        )?;
        Ok(true)
    }

    /// Makes a revision, whose server has this version, the active one of a deployment, whose active one is `from`; returns
    /// whether it did.
    pub(crate) fn switch(
        &self,
        deployment: &str,
        from: Option<&str>,
        to: &str,
        version: Option<String>,
    ) -> Result<bool, Broken> {
        let Some(mut found) = self.any_deployment(deployment)? else { return Ok(false) };
        if found.active_revision_id.as_deref() != from
            || !self.advance(to, Phase::Deploying, Phase::Deployed, None)?
        {
            return Ok(false);
        }
        self.db.execute("UPDATE revisions SET attempts = 0, error = NULL WHERE id = ?1", [to])?;
        found.active_revision_id = Some(to.to_owned());
        found.image_version = version;
        self.save(&mut found)?;
        Ok(true)
    }

    /// Records the image of a revision, or that it has none any more.
    pub(crate) fn set_image(&self, revision: &str, image: Option<&str>) -> Result<(), Broken> {
        self.db.execute("UPDATE revisions SET image = ?2 WHERE id = ?1", params![revision, image])?;
        Ok(())
    }

    /// Records that the image of the revision that this one repeats is gone.
    pub(crate) fn forget_kept(&self, revision: &str) -> Result<(), Broken> {
        self.db.execute("UPDATE revisions SET kept = NULL WHERE id = ?1", [revision])?;
        Ok(())
    }

    /// Records the number of failed attempts of a revision, and the last reason.
    pub(crate) fn set_attempts(
        &self,
        revision: &str,
        attempts: u32,
        error: Option<&str>,
    ) -> Result<(), Broken> {
        self.db.execute(
            "UPDATE revisions SET attempts = ?2, error = coalesce(?3, error) WHERE id = ?1",
            params![revision, attempts, error],
        )?;
        Ok(())
    }

    /// Removes a deleted deployment.
    pub(crate) fn forget(&self, deployment: &str) -> Result<(), Broken> {
        self.db.execute("DELETE FROM deployments WHERE id = ?1 AND deleted", [deployment])?;
        Ok(())
    }

    /// The secrets that a revision runs with.
    pub(crate) fn secrets(&self, deployment: &str, revision: &str) -> Result<Vec<Secret>, Broken> {
        let mut statement =
            self.db.prepare_cached("SELECT secrets FROM revisions WHERE id = ?1 AND deployment = ?2")?;
        let sealed =
            statement.query_row([revision, deployment], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        sealed.map_or(Ok(Vec::new()), |sealed| self.vault.open_sealed(deployment, &sealed))
    }
}

/// The source of a revision's image; `kept` is that of the revision that it repeats.
fn source(record: &wire::Revision, kept: Option<String>) -> Source {
    match (kept, &record.source, &record.source_revision_config.image_uri) {
        (Some(kept), _, _) => Source::Kept(kept),
        (None, From::ExternalContainer | From::InternalContainer, Some(image)) => {
            Source::Image(image.clone())
        }
        (None, _, _) => Source::Build,
    }
}
