//! The schema of the database, and the way from older versions to it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::directory::{Directory, Error};
use super::private;

/// Timeout for a lock of another process, such as a backup.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// The changes of the schema, oldest first. The version of a database is the number of those that it has.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql"), include_str!("limits.sql")];

/// Opens the database for changes, and migrates it; the older one is kept as `host.db.VERSION`.
pub(super) fn open(directory: &Directory) -> Result<Connection, Error> {
    let path = directory.database();
    let damaged = |error: rusqlite::Error| Error::Damaged { path: path.clone(), reason: error.to_string() };
    directory.create_database()?;
    let mut db = Connection::open(&path).map_err(damaged)?;
    db.busy_timeout(BUSY).map_err(damaged)?;
    check(&db, &path)?;
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(damaged)?;
    let newest = MIGRATIONS.len() as i64;
    if version > newest {
        return Err(Error::Newer { path, version });
    }
    db.pragma_update(None, "journal_mode", "WAL").map_err(damaged)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(damaged)?;
    db.pragma_update(None, "foreign_keys", true).map_err(damaged)?;
    if version < newest {
        if version > 0 {
            keep(&db, &path, version)?;
        }
        migrate(&mut db, newest).map_err(damaged)?;
    }
    Ok(db)
}

/// Fails if the file is damaged.
fn check(db: &Connection, path: &Path) -> Result<(), Error> {
    let checked = db.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let reason = match checked {
        Ok(answer) if answer == "ok" => return Ok(()),
        Ok(answer) => answer,
        Err(error) => error.to_string(),
    };
    Err(Error::Damaged { path: path.to_owned(), reason })
}

fn keep(db: &Connection, path: &Path, version: i64) -> Result<(), Error> {
    let mut copy = path.as_os_str().to_owned();
    copy.push(format!(".{version}"));
    // Left by a migration that was stopped.
    fs::remove_file(&copy).ok();
    // SQLite writes into an empty file, which gets no other permissions.
    let created = private::open(Path::new(&copy));
    created.map_err(|source| Error::Directory { path: path.to_owned(), source })?;
    let copied = db.execute("VACUUM INTO ?1", [copy.to_string_lossy()]);
    copied.map(drop).map_err(|error| Error::Damaged { path: path.to_owned(), reason: error.to_string() })
}

fn migrate(db: &mut Connection, newest: i64) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it since.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or_default()) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", newest)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    #[test]
    fn database_of_the_first_version_is_migrated_and_kept() {
        let path = tempfile::tempdir().unwrap();
        let directory = Directory::create(path.path()).unwrap();
        let db = Connection::open(directory.database()).unwrap();
        db.execute_batch(MIGRATIONS[0]).unwrap();
        db.pragma_update(None, "user_version", 1).unwrap();
        db.execute_batch(
            "INSERT INTO deployments (id, record, tags, secrets) VALUES ('a', '{\"tenant_id\": \"t\"}', '[]', x'');
             INSERT INTO revisions (id, deployment, ordinal, record, secrets, grace)
             VALUES ('a-1', 'a', 1, '{}', x'', 0);
             INSERT INTO logs (revision, kind, time, level, message) VALUES (1, 0, 0, 'INFO', 'é'), (1, 0, 0, 'INFO', 'x');
             INSERT INTO outputs VALUES (1, 'c', 7);
             INSERT INTO uploads (id, deployment, token, made, has_file) VALUES ('u', 'a', x'', 0, 1);",
        )
        .unwrap();
        drop(db);
        std::fs::write(directory.key(), [1; 32]).unwrap();
        crate::store::private::restrict(&directory.key()).unwrap();
        let store = Store::open(path.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let changed = store.change(|tx| {
            tx.measure_uploads(|id| id.len() as u64 * 5)?;
            let used = tx.used("t", crate::store::quota::Quota::UploadBytes)?;
            Ok::<_, super::super::Broken>((tx.log_size("a-1")?, tx.logged_until("a-1", "c")?, used))
        });
        assert_eq!(runtime.block_on(changed).unwrap(), ((2, 3), 7, 5));
        assert!(path.path().join("host.db.1").exists());
    }
}
