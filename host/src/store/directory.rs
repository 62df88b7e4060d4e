//! The data directory: the database, the key of the secrets, the archives, the pushed images, and the lock of the process that
//! uses them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use agentcli::project;

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

/// Paths in the data directory.
pub(super) struct Directory(PathBuf);

/// Locks the directory until it is dropped, or the process ends.
pub(super) struct Lock(#[allow(dead_code, reason = "holds the lock")] File);

impl Directory {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let directory = Self(path.to_owned());
        for path in [directory.uploads(), directory.registry()] {
            fs::create_dir_all(path).map_err(|source| directory.unusable(source))?;
        }
        Ok(directory)
    }

    pub(super) fn unusable(&self, source: io::Error) -> Error {
        Error::Directory { path: self.0.clone(), source }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.0.join("host.db")
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
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(self.0.join("lock"));
        let file = opened.map_err(|source| self.unusable(source))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path: self.0.clone() }),
            Err(TryLockError::Error(source)) => Err(self.unusable(source)),
        }
    }
}
