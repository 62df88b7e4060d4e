//! The database of the service: SQLite in write-ahead mode, in one file of the data directory.
//!
//! All changes run in one thread, each in a transaction of its own; reads use a pool of connections and see the state
//! between two changes. A change that has been answered is on the disk.

mod access;
mod archives;
mod blobs;
mod broken;
mod deliveries;
mod deployments;
mod desired;
mod digest;
mod directory;
mod ignored;
mod images;
mod inspect;
mod logs;
mod migrations;
mod needs;
pub(crate) mod persist;
pub(crate) mod private;
pub(crate) mod quota;
mod quotas;
pub(crate) mod removal;
mod revisions;
pub(crate) mod state;
mod uploads;
mod vault;

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tokio::sync::oneshot;

use crate::lock::lock;
pub use access::{Access, DEFAULT_TENANT};
pub(crate) use archives::{archive_id, archive_path};
pub(crate) use blobs::names;
pub use broken::Broken;
pub(crate) use deployments::{Conflict, Selection};
pub(crate) use desired::RevisionDetails;
pub(crate) use digest::{Digest, is_digest};
pub use directory::Error;
use directory::Lock;
pub(crate) use images::Manifest;
pub use inspect::Inspection;
pub(crate) use logs::{Line, LineOrigin, LogKind, Order, cut};
pub(crate) use needs::{IMAGES, INDEXES, Needs, kept, needs};
pub use quotas::TenantQuota;
use vault::Vault;

/// Maximum number of idle connections for reads.
const READERS: usize = 4;

type Change = Box<dyn FnOnce(&mut Connection) + Send>;

/// The database.
pub struct Store {
    /// Empty once the database is being closed.
    changes: Option<mpsc::Sender<Change>>,
    writer: Option<JoinHandle<()>>,
    readers: Mutex<Vec<Connection>>,
    directory: directory::Directory,
    vault: Vault,
    /// Held by the service as long as it runs.
    _lock: Option<Lock>,
}

/// The database within a transaction.
pub(crate) struct Tx<'a> {
    db: &'a Connection,
    vault: &'a Vault,
}

impl Store {
    /// Opens the database in `directory`, which is created if it does not exist, and migrates an older one.
    ///
    /// # Errors
    ///
    /// Another process uses it, it is damaged or newer than this program, or the directory cannot be used. Nothing is
    /// overwritten.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let directory = directory::Directory::create(directory)?;
        let lock = directory.lock()?;
        // What builds left that were cut off; the marks of those that ended the service stay.
        for entry in std::fs::read_dir(directory.builds()).into_iter().flatten().flatten() {
            removal::remove_directory(&entry.path()).ok();
        }
        Self::start(directory, Some(lock))
    }

    /// Opens the database beside the service, which may run.
    ///
    /// # Errors
    ///
    /// As of [`Store::open`], but for the other process.
    pub fn attach(directory: &Path) -> Result<Self, Error> {
        Self::start(directory::Directory::create(directory)?, None)
    }

    fn start(directory: directory::Directory, lock: Option<Lock>) -> Result<Self, Error> {
        let vault = Vault::open(&directory.key(), directory.has_database())?;
        directory.restrict()?;
        let mut writer = migrations::open(&directory)?;
        let (changes, queue) = mpsc::channel::<Change>();
        let spawned = thread::Builder::new().name("database".to_owned()).spawn(move || {
            for change in queue {
                change(&mut writer);
            }
        });
        let writer = Some(spawned.map_err(|source| directory.unusable(source))?);
        Ok(Self { changes: Some(changes), writer, readers: Mutex::default(), directory, vault, _lock: lock })
    }

    /// Directory of uploaded archives.
    pub(crate) fn uploads(&self) -> std::path::PathBuf {
        self.directory.uploads()
    }

    /// Directory for the trees of builds; emptied when the service starts.
    pub(crate) fn builds(&self) -> std::path::PathBuf {
        self.directory.builds()
    }

    /// Directory of pushed images.
    pub(crate) fn registry(&self) -> std::path::PathBuf {
        self.directory.registry()
    }

    /// Changes the database, unless `change` fails.
    pub(crate) async fn change<T, E>(
        &self,
        change: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Broken> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        let vault = self.vault.clone();
        let job: Change = Box::new(move |db| {
            // Nobody may be waiting for the answer.
            sender.send(transact(db, &vault, change)).ok();
        });
        let changes = self.changes.as_ref().ok_or(Broken::Closed)?;
        changes.send(job).map_err(|_| Broken::Closed)?;
        answer.await.unwrap_or_else(|_| Err(Broken::Closed.into()))
    }

    /// Changes the database later; `done` is told whether it was changed.
    pub(crate) fn change_later(
        &self,
        change: impl FnOnce(&Tx<'_>) -> Result<(), Broken> + Send + 'static,
        done: impl FnOnce(bool) + Send + 'static,
    ) {
        let vault = self.vault.clone();
        let job: Change = Box::new(move |db| done(transact(db, &vault, change).is_ok()));
        if let Some(changes) = &self.changes {
            changes.send(job).ok();
        }
    }

    /// Reads the database.
    pub(crate) fn read<T, E: From<Broken>>(
        &self,
        look: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let idle = lock(&self.readers).pop();
        let reader = idle.map_or_else(|| self.reader(), Ok).map_err(Broken::from)?;
        let transaction = reader.unchecked_transaction().map_err(Broken::from)?;
        let found = look(&Tx { db: &transaction, vault: &self.vault });
        drop(transaction);
        let mut readers = lock(&self.readers);
        if readers.len() < READERS {
            readers.push(reader);
        }
        found
    }

    fn reader(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = Connection::open_with_flags(self.directory.database(), flags)?;
        reader.busy_timeout(migrations::BUSY)?;
        Ok(reader)
    }
}

impl Drop for Store {
    /// Waits for the last change. The last connection that is closed moves all changes into the file of the database.
    fn drop(&mut self) {
        lock(&self.readers).clear();
        drop(self.changes.take());
        // It only ends early by a panic, which has been reported.
        self.writer.take().map(JoinHandle::join);
    }
}

fn transact<T, E: From<Broken>>(
    db: &mut Connection,
    vault: &Vault,
    change: impl FnOnce(&Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Broken::from)?;
    // Dropped without a commit, a transaction is rolled back.
    let done = change(&Tx { db: &transaction, vault })?;
    transaction.commit().map_err(Broken::from)?;
    Ok(done)
}
