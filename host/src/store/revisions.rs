//! Revisions of the database.

use agentcli::api::time;
use agentcli::api::wire::{Deployment, LogLevel, Object, Revision, RevisionStatus, Source};
use agentcli::compiler::server::cluster;
use rusqlite::types::Value as Sql;
use rusqlite::{OptionalExtension as _, params, params_from_iter};
use uuid::Uuid;

use super::ignored;
use super::state::Phase;
use super::{Broken, LogKind, Tx};

/// Maximum time that a server has to finish runs, in seconds.
const MAX_GRACE: u32 = 3600;
const DEFAULT_GRACE: u32 = 180;

impl Tx<'_> {
    /// Adds a revision of the deployment's configuration as its latest, with the deployment's secrets; its ID. `kept` is the
    /// image of the revision that it repeats.
    pub(crate) fn add_revision(
        &self,
        deployment: &mut Deployment,
        source: Source,
        kept: Option<&str>,
    ) -> Result<String, Broken> {
        let now = time::now_as_text();
        let mut last = self
            .db
            .prepare_cached("SELECT coalesce(max(ordinal), 0) FROM revisions WHERE deployment = ?1")?;
        let number = 1 + last.query_row([&deployment.id], |row| row.get::<_, i64>(0))?;
        let revision = Revision {
            id: Uuid::new_v4().to_string(),
            created_at: now.clone(),
            updated_at: now,
            status: RevisionStatus::Creating,
            source,
            source_revision_config: deployment.source_revision_config.clone(),
            other: Object::from_iter([(Revision::NUMBER.to_owned(), number.into())]),
        };
        self.db.execute(
            "INSERT INTO revisions (id, deployment, ordinal, record, secrets, grace, kept)
             SELECT ?1, id, ?6, ?3, secrets, ?4, ?5 FROM deployments WHERE id = ?2",
            params![
                revision.id,
                deployment.id,
                serde_json::to_string(&revision)?,
                self.grace(&deployment.id)?,
                kept,
                number
            ],
        )?;
        self.drop_old_logs(&deployment.id)?;
        if let Some(warning) = ignored::warning(deployment) {
            self.log(&revision.id, LogKind::Deploy, &LogLevel::Warning, &warning)?;
        }
        deployment.latest_revision_id = Some(revision.id.clone());
        self.save(deployment)?;
        Ok(revision.id)
    }

    /// Time that the server of a deployment has to finish runs, in seconds.
    fn grace(&self, deployment: &str) -> Result<u32, Broken> {
        let secrets = self.stored_secrets(deployment)?;
        let given = secrets.iter().find(|secret| secret.name == cluster::DRAIN_VARIABLE);
        let given = given.and_then(|secret| secret.value.as_ref()?.expose().trim().parse().ok());
        Ok(given.unwrap_or(DEFAULT_GRACE).min(MAX_GRACE))
    }

    /// Time that the server of a revision has to finish runs, in seconds.
    pub(crate) fn grace_of(&self, id: &str) -> Result<u32, Broken> {
        let mut statement = self.db.prepare_cached("SELECT grace FROM revisions WHERE id = ?1")?;
        Ok(statement.query_row([id], |row| row.get(0)).optional()?.unwrap_or(DEFAULT_GRACE))
    }

    /// The image of a revision, if it is kept.
    pub(crate) fn kept_image(&self, id: &str) -> Result<Option<String>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT image FROM revisions WHERE id = ?1")?;
        Ok(statement.query_row([id], |row| row.get(0)).optional()?.flatten())
    }

    /// A revision of a deployment.
    pub(crate) fn revision(&self, deployment: &str, id: &str) -> Result<Option<Revision>, Broken> {
        let mut statement =
            self.db.prepare_cached("SELECT record FROM revisions WHERE id = ?1 AND deployment = ?2")?;
        let found = statement.query_row([id, deployment], |row| row.get::<_, String>(0)).optional()?;
        Ok(found.map(|record| serde_json::from_str(&record)).transpose()?)
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

    /// The latest revision of a deployment.
    pub(crate) fn latest(&self, deployment: &str) -> Result<Option<Revision>, Broken> {
        Ok(self.revisions(deployment, None, 0, 1)?.pop())
    }

    /// Stops a revision that is not deployed yet; returns whether it was changed.
    pub(crate) fn interrupt(&self, revision: &Revision) -> Result<bool, Broken> {
        let phase = Phase::from(&revision.status);
        Ok(phase.may_become(Phase::Interrupted)
            && self.advance(&revision.id, phase, Phase::Interrupted, None)?)
    }
}
