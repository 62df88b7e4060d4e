//! Deployments of the database.

use agentcli::api::time;
use agentcli::api::wire::{Deployment, Secret};
use rusqlite::types::Value as Sql;
use rusqlite::{OptionalExtension as _, params, params_from_iter};
use serde_json::Value;

use super::{Broken, Tx};
use crate::net::host_name::HostName;

/// The reason to refuse a deployment.
pub(crate) enum Conflict {
    /// Its name is in use.
    Name,
    /// Its agent has a deployment in its environment.
    Agent,
}

/// A filter of deployments; all conditions must match.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) name: Option<String>,
    pub(crate) name_contains: Option<String>,
    /// Any of these.
    pub(crate) statuses: Option<Vec<String>>,
    pub(crate) remote_reconciled: Option<bool>,
    /// Any of these.
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) image_version: Option<String>,
    pub(crate) deployment_type: Option<String>,
    pub(crate) agent_id: Option<String>,
    pub(crate) agent_environment: Option<String>,
    /// Any of these.
    pub(crate) ids: Option<Vec<String>>,
}

impl Selection {
    /// The condition in SQL for a tenant, and its parameters.
    fn condition(&self, tenant: &str) -> (String, Vec<Sql>) {
        let mut condition = "NOT deleted AND tenant = ?".to_owned();
        let mut parameters = vec![Sql::Text(tenant.to_owned())];
        let mut texts = |sql: &str, wanted: &[String]| {
            let marks = vec!["?"; wanted.len()].join(", ");
            condition.push_str(" AND ");
            condition.push_str(&sql.replace("{}", &marks));
            parameters.extend(wanted.iter().cloned().map(Sql::Text));
        };
        for (sql, wanted) in [
            ("name = {}", &self.name),
            ("instr(name, {}) > 0", &self.name_contains),
            ("image_version = {}", &self.image_version),
            ("type = {}", &self.deployment_type),
            ("agent = {}", &self.agent_id),
            ("environment = {}", &self.agent_environment),
        ] {
            wanted.iter().for_each(|wanted| texts(sql, std::slice::from_ref(wanted)));
        }
        for (sql, wanted) in [
            ("status IN ({})", &self.statuses),
            ("id IN ({})", &self.ids),
            ("EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN ({}))", &self.tags),
        ] {
            wanted.iter().for_each(|wanted| texts(sql, wanted));
        }
        if let Some(is_remote) = self.remote_reconciled {
            texts(if is_remote { "listener IS NOT NULL" } else { "listener IS NULL" }, &[]);
        }
        (condition, parameters)
    }
}

impl Tx<'_> {
    /// Adds a deployment unless its name or agent is in use. Names are unique on the host, since they are host names.
    pub(crate) fn create(
        &self,
        deployment: &Deployment,
        tags: &[String],
    ) -> Result<Option<Conflict>, Broken> {
        let is_used = |sql: &str, parameters: &[&str]| {
            self.db.prepare_cached(sql)?.exists(params_from_iter(parameters))
        };
        if is_used("SELECT 1 FROM deployments WHERE name = ?1 AND NOT deleted", &[&deployment.name])? {
            return Ok(Some(Conflict::Name));
        }
        let agent = |field: &str| deployment.other.get("agent")?[field].as_str();
        if let Some((agent, environment)) = agent("agent_id").zip(agent("environment"))
            && is_used(
                "SELECT 1 FROM deployments WHERE tenant = ?1 AND agent = ?2 AND environment = ?3 AND NOT deleted",
                &[&deployment.tenant_id, agent, environment],
            )?
        {
            return Ok(Some(Conflict::Agent));
        }
        let sealed = self.vault.seal(&deployment.id, &deployment.secrets)?;
        self.db.execute(
            "INSERT INTO deployments (id, record, tags, secrets) VALUES (?1, ?2, ?3, ?4)",
            params![deployment.id, record(deployment)?, serde_json::to_string(tags)?, sealed],
        )?;
        Ok(None)
    }

    /// A deployment of a tenant, with the names of its secrets.
    pub(crate) fn deployment(&self, tenant: &str, id: &str) -> Result<Option<Deployment>, Broken> {
        let mut statement = self
            .db
            .prepare_cached("SELECT record FROM deployments WHERE id = ?1 AND tenant = ?2 AND NOT deleted")?;
        let found = statement.query_row([id, tenant], |row| row.get::<_, String>(0)).optional()?;
        Ok(found.map(|record| serde_json::from_str(&record)).transpose()?)
    }

    /// A deployment of any tenant.
    pub(crate) fn any_deployment(&self, id: &str) -> Result<Option<Deployment>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT record FROM deployments WHERE id = ?1")?;
        let found = statement.query_row([id], |row| row.get::<_, String>(0)).optional()?;
        Ok(found.map(|record| serde_json::from_str(&record)).transpose()?)
    }

    /// The records of the selected deployments of a tenant, newest first.
    pub(crate) fn deployments(
        &self,
        tenant: &str,
        selection: &Selection,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Value>, Broken> {
        let (condition, mut parameters) = selection.condition(tenant);
        let integer = |number: usize| Sql::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        parameters.extend([integer(limit), integer(offset)]);
        let sql =
            format!("SELECT record FROM deployments WHERE {condition} ORDER BY number DESC LIMIT ? OFFSET ?");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(parameters), |row| row.get::<_, String>(0))?;
        rows.map(|record| Ok(serde_json::from_str(&record?)?)).collect()
    }

    /// Whether another deployment has a `custom_url` with this host.
    pub(crate) fn is_host_used(&self, id: &str, host: &HostName) -> Result<bool, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT record ->> '$.source_config.custom_url' AS url FROM deployments
             WHERE NOT deleted AND id <> ?1 AND url IS NOT NULL",
        )?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            if HostName::of_url(&row.get::<_, String>(0)?).as_ref() == Some(host) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces a deployment. Its secrets are replaced if they have values.
    pub(crate) fn save(&self, deployment: &mut Deployment) -> Result<(), Broken> {
        deployment.updated_at = time::now_as_text();
        self.db.execute(
            "UPDATE deployments SET record = ?2 WHERE id = ?1",
            params![deployment.id, record(deployment)?],
        )?;
        if deployment.secrets.iter().all(|secret| secret.value.is_some()) {
            let sealed = self.vault.seal(&deployment.id, &deployment.secrets)?;
            self.db.execute(
                "UPDATE deployments SET secrets = ?2 WHERE id = ?1",
                params![deployment.id, sealed],
            )?;
        }
        Ok(())
    }

    /// The secrets of a deployment, with their values.
    pub(super) fn stored_secrets(&self, deployment: &str) -> Result<Vec<Secret>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT secrets FROM deployments WHERE id = ?1")?;
        let sealed: Vec<u8> = statement.query_row([deployment], |row| row.get(0))?;
        self.vault.open_sealed(deployment, &sealed)
    }

    /// Gives the secrets of a deployment that have no value the one that is stored.
    pub(crate) fn keep_values(&self, deployment: &mut Deployment) -> Result<(), Broken> {
        let stored = self.stored_secrets(&deployment.id)?;
        for secret in deployment.secrets.iter_mut().filter(|secret| secret.value.is_none()) {
            let kept = stored.iter().find(|kept| kept.name == secret.name);
            secret.value = kept.and_then(|kept| kept.value.clone());
        }
        Ok(())
    }

    /// Hides a deployment until the reconciler has removed it, and returns whether it existed.
    pub(crate) fn delete(&self, tenant: &str, id: &str) -> Result<bool, Broken> {
        let sql = "UPDATE deployments SET deleted = 1 WHERE id = ?1 AND tenant = ?2 AND NOT deleted";
        Ok(self.db.execute(sql, [id, tenant])? > 0)
    }
}

/// The record without the values of secrets.
fn record(deployment: &Deployment) -> Result<String, Broken> {
    let name = |secret: &Secret| Secret { value: None, ..secret.clone() };
    let secrets = deployment.secrets.iter().map(name).collect();
    Ok(serde_json::to_string(&Deployment { secrets, ..deployment.clone() })?)
}
