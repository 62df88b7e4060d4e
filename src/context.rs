//! The build context: the part of the user's tree that a build needs, as one deterministic tar stream.
//!
//! What goes in is what `docker build` would send ([`crate::compiler::manifests::dockerignore`]). The same tree gives the same bytes on
//! every machine: entries are sorted, times and owners are fixed. File contents pass through in small pieces, so memory
//! does not grow with the tree's bytes.

mod archive;
mod links;
mod pack;
mod stream;
mod walk;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::compiler::manifests::dockerignore::Ignore;

pub use links::leaves;
pub use pack::Packed;
pub use stream::Stream;

/// A tree on disk, what of it is left out, and what is added to it.
#[derive(Clone, Debug)]
pub struct Context {
    /// The directory whose contents are sent.
    pub root: PathBuf,
    /// What is left out.
    pub ignore: Ignore,
    /// Files that do not come from the disk: the path in the archive (`/` between its parts), the contents. They win
    /// over a file on disk with the same path, and `ignore` does not apply to them.
    pub extra: Vec<(String, Vec<u8>)>,
}

/// What the archive will hold: names and sizes, no contents.
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
    /// What is there.
    pub kind: Kind,
    /// The permission bits, set-user-id and the like among them.
    pub mode: u32,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file given by its contents.
    Extra(Vec<u8>),
    /// A file on disk, with its size in bytes when it was listed.
    File(u64),
    /// A symbolic link with its target, which is not followed.
    Link(PathBuf),
}

/// Why a context could not be read or sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file became longer or shorter while it was read.
    #[error("cannot read `{}` for the build context: its length changed meanwhile", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A link leads out of the tree.
    #[error("cannot pack `{}`: it is a link to `{}`, which is outside of the build context", .path.display(),
            .target.display())]
    Outside {
        /// The link.
        path: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A file, link or directory cannot be read.
    #[error("cannot read `{}` for the build context: {}", .path.display(), reason(.source))]
    Read {
        /// The file, link or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compressed archive cannot be kept on disk.
    #[error("cannot keep the packed build context in the directory for temporary files: {}", reason(.source))]
    Spool {
        /// Why.
        source: io::Error,
    },
    /// The compressed archive is larger than it may be.
    #[error("the build context is too large: packed it has more than {} MB; most of it is {}", .limit / 1_048_576,
            pack::named(.largest))]
    TooLarge {
        /// How large it may be, in bytes.
        limit: u64,
        /// The paths that most of it comes from, with their bytes, not packed.
        largest: Vec<(PathBuf, u64)>,
    },
    /// What receives the archive does not take it.
    #[error("cannot send the build context: {}", reason(.source))]
    Write {
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Changed { path } => {
                Some(format!("stop what writes to `{}`, or leave it out with .dockerignore", path.display()))
            }
            Error::Read { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some(format!(
                    "make `{}` readable, or leave it out with .dockerignore if the image does not need it",
                    path.display()
                ))
            }
            Error::Outside { path, .. } => Some(format!(
                "put what it points to in its place, or leave `{}` out with .dockerignore",
                path.display()
            )),
            Error::Spool { source } if source.kind() == io::ErrorKind::StorageFull => {
                Some("make room there, or set TMPDIR to a directory with more of it".to_owned())
            }
            Error::TooLarge { .. } => {
                Some("leave out with .dockerignore what the image does not need".to_owned())
            }
            Error::Read { .. } | Error::Spool { .. } | Error::Write { .. } => None,
        }
    }
}

impl Context {
    /// Finds what the archive will hold, sorted by the bytes of the paths. Sockets, pipes and devices are left out.
    ///
    /// # Errors
    ///
    /// A directory or link that is not left out and cannot be read.
    pub fn list(&self) -> Result<Listing, Error> {
        walk::list(self)
    }
}

impl Listing {
    /// What the archive will hold, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many files it will hold.
    pub fn files(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_file()).count() as u64
    }

    /// The bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// The at most `count` paths that most bytes come from, largest first, with their bytes: a directory where many
    /// of its entries add up, else the one entry that matters.
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

    /// What is directly in `directory`, with the bytes of each and all below it, largest first.
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

    /// The bytes of its contents.
    pub fn bytes(&self) -> u64 {
        match &self.kind {
            Kind::Extra(contents) => contents.len() as u64,
            Kind::File(bytes) => *bytes,
            Kind::Directory | Kind::Link(_) => 0,
        }
    }
}

/// An I/O error in words, without the operating system's number.
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
