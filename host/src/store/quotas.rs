//! Quotas of the database, and what tenants have of each.

use std::fs;

use rusqlite::{OptionalExtension as _, params};

use super::quota::{Exceeded, Quota};
use super::{Broken, Store, Tx};

/// A quota of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantQuota {
    /// Name of the tenant.
    pub tenant: String,
    /// What is limited.
    pub quota: Quota,
    /// The amount that the tenant has.
    pub used: u64,
    /// The amount that it may have.
    pub most: u64,
}

impl Store {
    /// The quotas of all tenants, by their names.
    ///
    /// # Errors
    ///
    /// The database failed; this applies to the functions below, too.
    pub fn quotas(&self) -> Result<Vec<TenantQuota>, Broken> {
        self.read(|tx| {
            let mut quotas = Vec::new();
            for (id, tenant) in tx.tenants()? {
                for quota in Quota::ALL {
                    let used = match quota {
                        Quota::ImageBytes => self.image_bytes(&tx.deployments_of(&id)?),
                        _ => tx.used(&id, quota)?,
                    };
                    quotas.push(TenantQuota {
                        tenant: tenant.clone(),
                        quota,
                        used,
                        most: tx.quota(&id, quota)?,
                    });
                }
            }
            Ok(quotas)
        })
    }

    /// Sets a quota of a tenant, or the usual amount for `None`; returns whether there is the tenant.
    pub async fn set_quota(&self, tenant: &str, quota: Quota, most: Option<u64>) -> Result<bool, Broken> {
        let tenant = tenant.to_owned();
        self.change(move |tx| tx.set_quota(&tenant, quota, most)).await
    }

    /// Size of the files of the pushed images of these deployments, in bytes.
    pub(crate) fn image_bytes(&self, deployments: &[String]) -> u64 {
        let files = deployments.iter().flat_map(|id| fs::read_dir(self.registry().join(id)));
        files.flatten().flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }
}

impl Tx<'_> {
    /// The IDs and the names of all tenants, by name.
    fn tenants(&self) -> Result<Vec<(String, String)>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT id, name FROM tenants ORDER BY name")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The amount that a tenant may have.
    pub(crate) fn quota(&self, tenant: &str, quota: Quota) -> Result<u64, Broken> {
        let mut statement =
            self.db.prepare_cached("SELECT most FROM quotas WHERE tenant = ?1 AND name = ?2")?;
        let set = statement.query_row([tenant, quota.name()], |row| row.get::<_, i64>(0)).optional()?;
        Ok(set.map_or(quota.usual(), i64::unsigned_abs))
    }

    fn set_quota(&self, tenant: &str, quota: Quota, most: Option<u64>) -> Result<bool, Broken> {
        let mut known = self.db.prepare_cached("SELECT id FROM tenants WHERE name = ?1")?;
        let Some(id) = known.query_row([tenant], |row| row.get::<_, String>(0)).optional()? else {
            return Ok(false);
        };
        self.db.execute("DELETE FROM quotas WHERE tenant = ?1 AND name = ?2", [&*id, quota.name()])?;
        if let Some(most) = most {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            self.db.execute("INSERT INTO quotas VALUES (?1, ?2, ?3)", params![id, quota.name(), most])?;
        }
        Ok(true)
    }

    /// The amount that a tenant has; of images, which are files, nothing.
    pub(crate) fn used(&self, tenant: &str, quota: Quota) -> Result<u64, Broken> {
        let sql = match quota {
            Quota::Deployments => "SELECT count(*) FROM deployments WHERE tenant = ?1 AND NOT deleted",
            // As `Scale::most` has it.
            Quota::Replicas => {
                "SELECT coalesce(sum(min(100, max(1, coalesce(
                    record ->> '$.source_config.resource_spec.max_scale',
                    record ->> '$.source_config.resource_spec.min_scale', 1
                 )))), 0) FROM deployments WHERE tenant = ?1 AND NOT deleted"
            }
            Quota::Uploads => {
                "SELECT count(*) FROM uploads JOIN deployments ON deployments.id = uploads.deployment
                 WHERE tenant = ?1 AND NOT deleted"
            }
            Quota::UploadBytes => {
                "SELECT coalesce(sum(size), 0) FROM uploads JOIN deployments ON deployments.id = uploads.deployment
                 WHERE tenant = ?1 AND NOT deleted"
            }
            Quota::LogBytes => {
                "SELECT coalesce(sum(bytes), 0) FROM log_sizes
                 JOIN revisions ON revisions.number = log_sizes.revision
                 JOIN deployments ON deployments.id = revisions.deployment WHERE tenant = ?1"
            }
            Quota::ImageBytes => return Ok(0),
        };
        let used = self.db.prepare_cached(sql)?.query_row([tenant], |row| row.get::<_, i64>(0))?;
        Ok(used.unsigned_abs())
    }

    /// The quota if a tenant has more than it may, and more than `before`: a lower quota does not prevent other changes.
    pub(crate) fn exceeded(
        &self,
        tenant: &str,
        quota: Quota,
        before: u64,
    ) -> Result<Option<Exceeded>, Broken> {
        let (needed, most) = (self.used(tenant, quota)?, self.quota(tenant, quota)?);
        Ok((needed > most && needed > before).then_some(Exceeded { quota, most, needed }))
    }

    /// IDs of the deployments of a tenant, those that are being deleted included.
    pub(crate) fn deployments_of(&self, tenant: &str) -> Result<Vec<String>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT id FROM deployments WHERE tenant = ?1")?;
        let rows = statement.query_map([tenant], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// ID of the tenant of a deployment.
    pub(crate) fn tenant_of_deployment(&self, deployment: &str) -> Result<String, Broken> {
        let mut statement = self.db.prepare_cached("SELECT tenant FROM deployments WHERE id = ?1")?;
        Ok(statement.query_row([deployment], |row| row.get(0)).optional()?.unwrap_or_default())
    }
}
