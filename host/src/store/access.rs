//! API keys and their tenants. Of a key, only the digest is kept.

use agentcli::api::time;
use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::{Broken, Store, Tx};

/// Name of the tenant of keys that name no other.
pub const DEFAULT_TENANT: &str = "default";

/// An API key, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// UUID.
    pub id: String,
    /// Name of the tenant.
    pub tenant: String,
    /// ISO 8601.
    pub created_at: String,
}

impl Store {
    /// Adds `key` for a tenant, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The database failed; this applies to all functions below.
    pub async fn add_key(&self, tenant: &str, key: &str) -> Result<(), Broken> {
        let (tenant, digest) = (tenant.to_owned(), digest(key.as_bytes()));
        self.change(move |tx| tx.add_key(&tenant, &digest)).await
    }

    /// The keys, oldest first.
    pub fn keys(&self) -> Result<Vec<Access>, Broken> {
        self.read(|tx| tx.keys())
    }

    /// Removes a key, and returns whether it existed.
    pub async fn revoke_key(&self, id: &str) -> Result<bool, Broken> {
        let id = id.to_owned();
        self.change(move |tx| Ok(tx.db.execute("DELETE FROM keys WHERE id = ?1", [id])? > 0)).await
    }

    /// The ID of this host.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub fn host_id(&self) -> Result<String, Broken> {
        self.read(|tx| Ok(tx.db.query_row("SELECT id FROM host", [], |row| row.get(0))?))
    }

    /// A secret of this host for the passwords of databases.
    pub fn database_key(&self) -> [u8; 32] {
        self.vault.derived(b"databases")
    }

    /// A name for the build caches of a tenant that no other tenant can guess.
    pub(crate) fn cache_namespace(&self, tenant: &str) -> String {
        hex::encode(self.vault.derived(format!("cache mounts of {tenant}").as_bytes()))
    }

    /// UUID of the tenant that `key` belongs to.
    pub(crate) fn tenant_of(&self, key: &[u8]) -> Result<Option<String>, Broken> {
        let digest = digest(key);
        self.read(|tx| tx.tenant_of(&digest))
    }
}

impl Tx<'_> {
    fn add_key(&self, tenant: &str, digest: &[u8]) -> Result<(), Broken> {
        let new = Uuid::new_v4().to_string();
        self.db.execute(
            "INSERT INTO tenants (id, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            [&*new, tenant],
        )?;
        self.db.execute(
            "INSERT INTO keys (id, tenant, digest, created)
             SELECT ?1, id, ?2, ?3 FROM tenants WHERE name = ?4 ON CONFLICT (digest) DO NOTHING",
            params![Uuid::new_v4().to_string(), digest, time::now_as_text(), tenant],
        )?;
        Ok(())
    }

    fn keys(&self) -> Result<Vec<Access>, Broken> {
        let mut statement = self.db.prepare_cached(
            "SELECT keys.id, tenants.name, keys.created FROM keys JOIN tenants ON tenants.id = keys.tenant
             ORDER BY keys.created, keys.id",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Access { id: row.get(0)?, tenant: row.get(1)?, created_at: row.get(2)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The name of a tenant; empty if it does not exist.
    pub(crate) fn tenant_name(&self, id: &str) -> Result<String, Broken> {
        let mut statement = self.db.prepare_cached("SELECT name FROM tenants WHERE id = ?1")?;
        Ok(statement.query_row([id], |row| row.get(0)).optional()?.unwrap_or_default())
    }

    /// The index finds a digest, of which a wrong key shares no predictable part; what it finds is compared in constant
    /// time.
    fn tenant_of(&self, digest: &[u8]) -> Result<Option<String>, Broken> {
        let mut statement = self.db.prepare_cached("SELECT tenant, digest FROM keys WHERE digest = ?1")?;
        let found = statement.query_row([digest], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)));
        let found: Option<(String, Vec<u8>)> = found.optional()?;
        Ok(found.filter(|(_, known)| known.ct_eq(digest).into()).map(|(tenant, _)| tenant))
    }
}

/// SHA-256: keys are random and long, so that a slow hash would protect nothing more.
pub(super) fn digest(key: &[u8]) -> Vec<u8> {
    Sha256::digest(key).to_vec()
}
