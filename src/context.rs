//! The build context: the part of the user's tree that a build needs, as one deterministic tar stream.
//!
//! It holds what `docker build` would send ([`crate::compiler::manifests::dockerignore`]). The same tree gives the same
//! bytes on every machine: entries are sorted, times and owners are fixed. File contents are streamed, so memory does not
//! grow with the size of the tree.

mod archive;
mod layer;
mod links;
mod pack;
mod stream;
mod walk;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::compiler::manifests::dockerignore::Ignore;

pub use layer::{Layer, Parent};
pub use links::leaves;
pub use pack::Packed;
pub use stream::Stream;

/// A tree on disk, the files of it to leave out, and files to add.
#[derive(Clone, Debug)]
pub struct Context {
    /// The directory whose contents are sent.
    pub root: PathBuf,
    /// The files to leave out.
    pub ignore: Ignore,
    /// Files that do not come from the disk: path in the archive (with `/`) and contents. They override files on disk
    /// with the same path, and `ignore` does not apply to them.
    pub extra: Vec<(String, Vec<u8>)>,
    /// Configurations, by path in the archive: they are sent as regular files, without the values of `env`.
    pub configurations: Vec<String>,
}

/// The contents of the archive to be: names and sizes.
#[derive(Clone, Debug)]
pub struct Listing {
    root: PathBuf,
    entries: Vec<Entry>,
}

/// One entry of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path in the archive, relative to the root.
    pub path: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// The permission bits: 0o755 for directories and executable files, 0o644 for other files, 0o777 for links.
    pub mode: u32,
}

/// The kind of an [`Entry`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file with its contents, which do not come from the disk or were read before.
    Extra(Vec<u8>),
    /// A file on disk, with its size in bytes when it was listed.
    File(u64),
    /// A symbolic link with its target, which is not followed.
    Link(PathBuf),
}

/// A build context that cannot be read or sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file became longer or shorter while it was read.
    #[error("cannot read `{}` for the build context: it changed while it was read", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A symbolic link leads out of the tree.
    #[error("cannot pack `{}`: it is a symbolic link to `{}`, outside the build context", .path.display(),
            .target.display())]
    Outside {
        /// The link.
        path: PathBuf,
        /// Its target.
        target: PathBuf,
    },
    /// A file, link or directory cannot be read.
    #[error("cannot read `{}` for the build context: {}", .path.display(), reason(.source))]
    Read {
        /// The file, link or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The compressed archive cannot be written to disk.
    #[error("cannot write the packed build context to the temporary directory: {}", reason(.source))]
    Spool {
        /// The cause.
        source: io::Error,
    },
    /// The compressed archive exceeds the limit.
    #[error("the build context is too large: packed, it exceeds {} MB; the largest paths are {}", .limit / 1_048_576,
            pack::named(.largest))]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
        /// The largest paths, with their sizes in bytes before compression.
        largest: Vec<(PathBuf, u64)>,
    },
    /// The receiver of the archive failed.
    #[error("cannot send the build context: {}", reason(.source))]
    Write {
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Changed { path } => Some(format!(
                "stop the program that writes to `{}`, or exclude it in .dockerignore",
                path.display()
            )),
            Error::Read { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some(format!(
                    "make `{}` readable, or exclude it in .dockerignore if the image does not need it",
                    path.display()
                ))
            }
            Error::Outside { path, .. } => Some(format!(
                "replace `{}` with the file it points to, or exclude it in .dockerignore",
                path.display()
            )),
            Error::Spool { source } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free disk space there, or set TMPDIR to another directory".to_owned())
            }
            Error::TooLarge { .. } => {
                Some("exclude files that the image does not need in .dockerignore".to_owned())
            }
            Error::Read { .. } | Error::Spool { .. } | Error::Write { .. } => None,
        }
    }
}

impl Context {
    /// Lists the files of the archive, sorted by path bytes. Sockets, pipes and devices are left out.
    ///
    /// # Errors
    ///
    /// A directory or link that is not left out cannot be read.
    pub fn list(&self) -> Result<Listing, Error> {
        walk::list(self)
    }
}

impl Listing {
    /// The entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Reads the files at and below `sources` now, so that their contents are sent as they are known.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn hold<'a>(&mut self, sources: impl Iterator<Item = &'a String> + Clone) -> Result<(), Error> {
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            let is_held = sources.clone().any(|source| entry.path.starts_with(source));
            if is_held && matches!(entry.kind, Kind::File(_)) {
                self.entries[at].kind = Kind::Extra(self.contents(entry)?);
            }
        }
        Ok(())
    }

    /// Number of files.
    pub fn files(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_file()).count() as u64
    }

    /// Total size of the files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// The largest paths, at most `count`, largest first, with their sizes in bytes: a directory if many of its entries
    /// add up, otherwise the single entry that matters.
    pub fn largest(&self, count: usize) -> Vec<(PathBuf, u64)> {
        let mut largest = self.shares(Path::new(""));
        largest.truncate(count);
        for share in &mut largest {
            while let Some(main) =
                self.shares(&share.0).into_iter().next().filter(|one| one.1 * 5 > share.1 * 4)
            {
                *share = main;
            }
        }
        largest
    }

    /// The entries directly in `directory` with their total sizes in bytes, largest first.
    fn shares(&self, directory: &Path) -> Vec<(PathBuf, u64)> {
        let depth = directory.components().count();
        let mut shares: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.path.starts_with(directory)) {
            if entry.path != directory {
                *shares.entry(entry.path.components().take(depth + 1).collect()).or_default() +=
                    entry.bytes();
            }
        }
        let mut shares: Vec<(PathBuf, u64)> = shares.into_iter().filter(|share| share.1 > 0).collect();
        shares.sort_by_key(|share| Reverse(share.1));
        shares
    }
}

impl Entry {
    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        matches!(self.kind, Kind::Extra(_) | Kind::File(_))
    }

    /// Size of its contents, in bytes.
    pub fn bytes(&self) -> u64 {
        match &self.kind {
            Kind::Extra(contents) => contents.len() as u64,
            Kind::File(bytes) => *bytes,
            Kind::Directory | Kind::Link(_) => 0,
        }
    }
}

/// The text of an I/O error, without the error number of the operating system.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "it is not a directory".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}
