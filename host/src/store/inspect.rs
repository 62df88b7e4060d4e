//! Checks and copies of the data directory.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::archives::EXTENSION;
use super::directory::{Directory, Error};
use super::{Broken, Store, Tx, blobs, private};

/// Number of copies of the database after which a backup fails, each after a file that the one before names was removed.
const ATTEMPTS: usize = 20;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Version of the database.
    pub version: i64,
    /// Number of deployments, those that are being deleted included.
    pub deployments: usize,
    /// Number of revisions.
    pub revisions: usize,
    /// Number of keys.
    pub keys: usize,
    /// What is wrong, as lowercase fragments.
    pub problems: Vec<String>,
}

impl Store {
    /// Checks the whole database, that all secrets can be decrypted, and that the archives and the pushed images are there.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub fn inspect(&self) -> Result<Inspection, Broken> {
        let registry = self.registry();
        self.read(|tx| {
            let mut found = tx.counts()?;
            found.problems = tx.damages()?;
            found.problems.extend(tx.sealed_wrongly()?);
            for id in tx.received_uploads()? {
                if !self.archive(&id).exists() {
                    found.problems.push(format!("the archive {id} is missing"));
                }
            }
            found.problems.extend(blobs::problems(&registry, tx)?);
            Ok(found)
        })
    }

    /// Copies the data directory to `target`, which must not exist. The service may run.
    ///
    /// # Errors
    ///
    /// There is something at `target`, or it cannot be written; then nothing is left there.
    pub fn copy_to(&self, target: &Path) -> Result<(), Error> {
        let failed = |source| Error::Directory { path: target.to_owned(), source };
        let (new, copy) = new_directory(target)?;
        copy_key(&self.directory, &copy).map_err(failed)?;
        // Most of the time passes before the database is copied, and what changed meanwhile is copied after it.
        copy_files(&self.directory, &copy).map_err(failed)?;
        for _ in 0..ATTEMPTS {
            self.copy_database(&copy.database()).map_err(failed)?;
            let named =
                self.named_files(&copy.database()).map_err(|error| failed(io::Error::other(error)))?;
            if self.directory.copy_missing(&copy, &named).map_err(failed)? {
                return fs::rename(new.keep(), target).map_err(failed);
            }
            fs::remove_file(copy.database()).map_err(failed)?;
        }
        Err(failed(io::Error::other("files were removed again and again while they were copied")))
    }

    /// Copies the database to a file that does not exist.
    fn copy_database(&self, target: &Path) -> io::Result<()> {
        // SQLite writes into an empty file, which gets no other permissions.
        private::open(target)?;
        // Not in a transaction, which it does not permit.
        let copied = self
            .reader()
            .and_then(|db| db.execute("VACUUM INTO ?1", [target.to_string_lossy().into_owned()]));
        copied.map(drop).map_err(io::Error::other)
    }

    /// The files that a copy of the database names, relative to the data directory.
    fn named_files(&self, database: &Path) -> Result<HashSet<PathBuf>, Broken> {
        let db = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let tx = Tx { db: &db, vault: &self.vault };
        let archives = tx.received_uploads()?.into_iter();
        let archives =
            archives.map(|id| Directory::at(Path::new("")).uploads().join(format!("{id}{EXTENSION}")));
        let blobs = blobs::named_blobs(&tx)?.into_iter();
        let registry = Directory::at(Path::new("")).registry();
        let blobs = blobs.map(|(deployment, blob)| registry.join(deployment).join(blob.digits()));
        Ok(archives.chain(blobs).collect())
    }

    /// Makes the data directory `target`, which must not exist, from the copy in `source`, which is not changed.
    ///
    /// # Errors
    ///
    /// There is something at `target`, it cannot be written, or the copy is damaged; then nothing is left there.
    pub fn restore(source: &Path, target: &Path) -> Result<(), Error> {
        let (new, copy) = new_directory(target)?;
        let failed = |source| Error::Directory { path: target.to_owned(), source };
        let source = Directory::at(source);
        // The second one is there if the copy is of a service that was killed.
        for (from, is_needed) in [(source.database(), true), (source.write_ahead_log(), false)] {
            let to = new.path().join(from.file_name().unwrap_or_default());
            match private::copy(&from, &to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_needed => {}
                copied => copied.map_err(failed)?,
            }
        }
        copy_key(&source, &copy).and_then(|()| copy_files(&source, &copy)).map_err(failed)?;
        // Opening checks it, and migrates an older one.
        drop(Self::attach(new.path())?);
        fs::rename(new.keep(), target).map_err(failed)
    }
}

/// A directory beside `target`, which must not exist and which it will become.
fn new_directory(target: &Path) -> Result<(TempDir, Directory), Error> {
    let failed = |source| Error::Directory { path: target.to_owned(), source };
    if target.exists() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let new = tempfile::Builder::new().prefix(".agentcli-host-").tempdir_in(parent.unwrap_or(Path::new(".")));
    let new = new.map_err(failed)?;
    private::restrict(new.path()).map_err(failed)?;
    let directory = Directory::create(new.path())?;
    Ok((new, directory))
}

fn copy_key(from: &Directory, to: &Directory) -> io::Result<()> {
    private::copy(&from.key(), &to.key())
}

/// Copies the archives and the pushed images.
fn copy_files(from: &Directory, to: &Directory) -> io::Result<()> {
    copy_tree(&from.uploads(), &to.uploads())?;
    copy_tree(&from.registry(), &to.registry())
}

/// Copies the files below a directory. Those that are being received are left out, and those that are removed meanwhile.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let copied = match entry.file_type()?.is_dir() {
            true => private::create_directory(&target).and_then(|()| copy_tree(&entry.path(), &target)),
            false if entry.file_name().to_string_lossy().starts_with('.') => Ok(()),
            false => private::copy(&entry.path(), &target),
        };
        match copied {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => copied?,
        }
    }
    Ok(())
}

impl Directory {
    /// Copies those of the `named` files that the copy does not have; returns whether it has all then.
    fn copy_missing(&self, copy: &Self, named: &HashSet<PathBuf>) -> io::Result<bool> {
        let missing = named.iter().filter(|path| !copy.file(path).exists());
        for path in missing {
            let target = copy.file(path);
            private::create_directory(target.parent().unwrap_or(Path::new("")))?;
            match private::copy(&self.file(path), &target) {
                // The database does not name it any more either.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                copied => copied?,
            }
        }
        Ok(true)
    }
}

impl Tx<'_> {
    fn counts(&self) -> Result<Inspection, Broken> {
        let sql = "SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM deployments),
                   (SELECT count(*) FROM revisions), (SELECT count(*) FROM keys)";
        Ok(self.db.query_row(sql, [], |row| {
            let count = |column| row.get::<_, i64>(column).map(|count| count.unsigned_abs() as usize);
            Ok(Inspection {
                version: row.get(0)?,
                deployments: count(1)?,
                revisions: count(2)?,
                keys: count(3)?,
                problems: Vec::new(),
            })
        })?)
    }

    fn texts(&self, sql: &str) -> Result<Vec<String>, Broken> {
        let mut statement = self.db.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn damages(&self) -> Result<Vec<String>, Broken> {
        let mut damages = self.texts("SELECT integrity_check FROM pragma_integrity_check")?;
        damages.retain(|line| line != "ok");
        damages.extend(self.texts(
            "SELECT 'a record of ' || \"table\" || ' belongs to nothing' FROM pragma_foreign_key_check",
        )?);
        Ok(damages)
    }

    fn sealed_wrongly(&self) -> Result<Vec<String>, Broken> {
        let mut statement = self.db.prepare(
            "SELECT id, secrets FROM deployments UNION ALL SELECT deployment, secrets FROM revisions",
        )?;
        let mut rows = statement.query([])?;
        let mut wrong = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, sealed): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if self.vault.open_sealed(&id, &sealed).is_err() {
                wrong.push(format!("the secrets of {id} cannot be decrypted with this secret.key"));
            }
        }
        wrong.dedup();
        Ok(wrong)
    }

    /// The IDs of the uploads whose archive was received.
    pub(crate) fn received_uploads(&self) -> Result<Vec<String>, Broken> {
        self.texts("SELECT id FROM uploads WHERE has_file")
    }
}
