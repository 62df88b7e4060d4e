//! Revisions of the database.

use agentcli::api::time;
use agentcli::api::wire::{Deployment, DeploymentStatus, Object, Revision, RevisionStatus, Source};
use rusqlite::types::Value as Sql;
use rusqlite::{OptionalExtension as _, params, params_from_iter};
use uuid::Uuid;

use super::{Broken, Tx};

impl Tx<'_> {
    /// Adds a revision of the deployment's configuration as its latest, with the deployment's secrets; its ID.
    pub(crate) fn add_revision(&self, deployment: &mut Deployment, source: Source) -> Result<String, Broken> {
        let now = time::now_as_text();
        let revision = Revision {
            id: Uuid::new_v4().to_string(),
            created_at: now.clone(),
            updated_at: now,
            status: RevisionStatus::Creating,
            source,
            source_revision_config: deployment.source_revision_config.clone(),
            other: Object::new(),
        };
        self.db.execute(
            "INSERT INTO revisions (id, deployment, ordinal, record, secrets)
             SELECT ?1, id, 1 + (SELECT coalesce(max(ordinal), 0) FROM revisions WHERE deployment = ?2), ?3, secrets
             FROM deployments WHERE id = ?2",
            params![revision.id, deployment.id, serde_json::to_string(&revision)?],
        )?;
        deployment.latest_revision_id = Some(revision.id.clone());
        self.save(deployment)?;
        Ok(revision.id)
    }

    /// A revision of a deployment.
    pub(crate) fn revision(&self, deployment: &str, id: &str) -> Result<Option<Revision>, Broken> {
        let mut statement =
            self.db.prepare_cached("SELECT record FROM revisions WHERE id = ?1 AND deployment = ?2")?;
        let found = statement.query_row([id, deployment], |row| row.get::<_, String>(0)).optional()?;
        Ok(found.map(|record| serde_json::from_str(&record)).transpose()?)
    }

    /// The number of a revision in its deployment, from 1.
    pub(crate) fn ordinal(&self, id: &str) -> Result<Option<u64>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT ordinal FROM revisions WHERE id = ?1")?;
        Ok(statement.query_row([id], |row| row.get::<_, i64>(0)).optional()?.map(i64::unsigned_abs))
    }

    /// The revisions of a deployment with any of `statuses`, newest first.
    pub(crate) fn revisions(
        &self,
        deployment: &str,
        statuses: Option<&[String]>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Revision>, Broken> {
        let mut parameters = vec![Sql::Text(deployment.to_owned())];
        let condition = match statuses {
            None => String::new(),
            Some(statuses) => {
                parameters.extend(statuses.iter().cloned().map(Sql::Text));
                format!("AND status IN ({})", vec!["?"; statuses.len()].join(", "))
            }
        };
        let integer = |number: usize| Sql::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        parameters.extend([integer(limit), integer(offset)]);
        let sql = format!(
            "SELECT record FROM revisions WHERE deployment = ? {condition} ORDER BY ordinal DESC LIMIT ? OFFSET ?"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(parameters), |row| row.get::<_, String>(0))?;
        rows.map(|record| Ok(serde_json::from_str(&record?)?)).collect()
    }

    /// The IDs of the revisions whose status is not final, each after that of its deployment, oldest first.
    pub(crate) fn unfinished(&self) -> Result<Vec<(String, String)>, Broken> {
        let is_open = |word: &&&str| !RevisionStatus::from(**word).is_final();
        let open: Vec<&str> = RevisionStatus::WORDS.iter().filter(is_open).copied().collect();
        let marks = vec!["?"; open.len()].join(", ");
        let sql = format!("SELECT deployment, id FROM revisions WHERE status IN ({marks}) ORDER BY number");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(open), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The latest revision of a deployment.
    pub(crate) fn latest(&self, deployment: &str) -> Result<Option<Revision>, Broken> {
        Ok(self.revisions(deployment, None, 0, 1)?.pop())
    }

    /// Changes the status of a revision unless it is final or the revision was removed; returns whether it changed.
    pub(crate) fn advance(&self, deployment: &str, id: &str, status: RevisionStatus) -> Result<bool, Broken> {
        let Some(mut revision) = self.revision(deployment, id)? else { return Ok(false) };
        if revision.status.is_final() {
            return Ok(false);
        }
        revision.status = status;
        revision.updated_at = time::now_as_text();
        self.db.execute(
            "UPDATE revisions SET record = ?2 WHERE id = ?1",
            params![id, serde_json::to_string(&revision)?],
        )?;
        if revision.status == RevisionStatus::Deployed
            && let Some(mut deployment) = self.any_deployment(deployment)?
        {
            deployment.active_revision_id = Some(id.to_owned());
            deployment.status = DeploymentStatus::Ready;
            self.save(&mut deployment)?;
        }
        Ok(true)
    }
}
