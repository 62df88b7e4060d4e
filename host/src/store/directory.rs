//! The data directory: the database, the key of the secrets, the archives, the pushed images, and the lock of the process that
//! uses them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use agentcli::project;

use super::private;

/// The data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be created, read or written.
    #[error("cannot use the data directory `{}`: {}", .path.display(), project::reason(.source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason of the system.
        source: io::Error,
    },
    /// Another process uses it.
    #[error("cannot use the data directory `{}`: another agentcli host uses it", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The database is damaged, or is no database.
    #[error("cannot open the database `{}`: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason of SQLite.
        reason: String,
    },
    /// A newer version wrote the database.
    #[error("cannot open the database `{}`: version {version} of it is newer than this program", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// The key of the secrets is missing, has another length, or can be read by others.
    #[error("cannot use the key `{}`: {reason}", .path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// A lowercase fragment.
        reason: String,
    },
}

impl Error {
    /// The next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Directory { .. } => None,
            Self::InUse { .. } => Some("stop it, or choose another directory with --data".to_owned()),
            Self::Damaged { .. } => {
                Some("restore a copy of the data directory; nothing was changed".to_owned())
            }
            Self::Newer { .. } => Some("update agentcli-host; nothing was changed".to_owned()),
            Self::Key { .. } => {
                Some("restore the key from a copy of the data directory; it must have mode 0600".to_owned())
            }
        }
    }
}

/// Names of the file of the database, with which those of its copies begin, and of the lock.
const DATABASE: &str = "host.db";
const LOCK: &str = "lock";

/// Paths in the data directory.
pub(super) struct Directory(PathBuf);

/// Locks the directory until it is dropped, or the process ends.
pub(super) struct Lock(#[allow(dead_code, reason = "holds the lock")] File);

impl Directory {
    /// The paths below `path`, of which nothing may exist.
    pub(super) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let directory = Self::at(path);
        for path in [directory.uploads(), directory.registry()] {
            private::create_directory(&path).map_err(|source| directory.unusable(source))?;
        }
        Ok(directory)
    }

    /// Takes the permissions of other users, which older versions left them, from the directory and what the service has in
    /// it: the database with its copies, the archives and the images. A key that others could read is refused instead.
    pub(super) fn restrict(&self) -> Result<(), Error> {
        let restrict = || {
            private::restrict(&self.0)?;
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                let name = entry.file_name();
                if name == LOCK || name.to_string_lossy().starts_with(DATABASE) {
                    match private::restrict(&entry.path()) {
                        // SQLite removes files beside the database.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        restricted => restricted?,
                    }
                }
            }
            private::restrict_all(&self.uploads())?;
            private::restrict_all(&self.registry())
        };
        restrict().map_err(|source| self.unusable(source))
    }

    /// Creates the file of the database, whose permissions those beside it get from SQLite.
    pub(super) fn create_database(&self) -> Result<(), Error> {
        private::open(&self.database()).map(drop).map_err(|source| self.unusable(source))
    }

    pub(super) fn unusable(&self, source: io::Error) -> Error {
        Error::Directory { path: self.0.clone(), source }
    }

    /// A file by its path in the directory.
    pub(super) fn file(&self, path: &Path) -> PathBuf {
        self.0.join(path)
    }

    pub(super) fn database(&self) -> PathBuf {
        self.0.join(DATABASE)
    }

    /// The changes that are not in the file of the database yet.
    pub(super) fn write_ahead_log(&self) -> PathBuf {
        self.0.join("host.db-wal")
    }

    pub(super) fn has_database(&self) -> bool {
        self.database().exists()
    }

    pub(super) fn key(&self) -> PathBuf {
        self.0.join("secret.key")
    }

    pub(super) fn uploads(&self) -> PathBuf {
        self.0.join("uploads")
    }

    pub(super) fn builds(&self) -> PathBuf {
        self.0.join("build")
    }

    pub(super) fn registry(&self) -> PathBuf {
        self.0.join("registry")
    }

    /// Locks the directory for this process; a lock ends with its process, however that ends.
    pub(super) fn lock(&self) -> Result<Lock, Error> {
        let file = private::open(&self.0.join(LOCK)).map_err(|source| self.unusable(source))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path: self.0.clone() }),
            Err(TryLockError::Error(source)) => Err(self.unusable(source)),
        }
    }
}
