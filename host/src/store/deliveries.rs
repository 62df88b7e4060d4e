//! Deliveries of webhooks.

use agentcli::api::wire::Deployment;

use super::{Broken, Tx};

/// Number of names that are remembered.
const REMEMBERED: i64 = 20_000;

impl Tx<'_> {
    /// Remembers a delivery by its names, the oldest are forgotten; returns whether all of them are new.
    pub(crate) fn remember_delivery(&self, names: &[Vec<u8>]) -> Result<bool, Broken> {
        let mut insert = self.db.prepare_cached("INSERT OR IGNORE INTO deliveries (name) VALUES (?1)")?;
        let mut is_new = true;
        for name in names {
            is_new &= insert.execute([name])? > 0;
        }
        let sql = "DELETE FROM deliveries WHERE number <= (SELECT max(number) FROM deliveries) - ?1";
        self.db.execute(sql, [REMEMBERED])?;
        Ok(is_new)
    }

    /// The deployments of an integration that are built on a push, of all tenants.
    pub(crate) fn built_on_push(&self, integration: &str) -> Result<Vec<Deployment>, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT record FROM deployments WHERE NOT deleted AND record ->> '$.source' = 'codehost'
             AND record ->> '$.source_config.integration_id' = ?1 AND record ->> '$.source_config.build_on_push'",
        )?;
        let rows = statement.query_map([integration], |row| row.get::<_, String>(0))?;
        rows.map(|record| Ok(serde_json::from_str(&record?)?)).collect()
    }
}
