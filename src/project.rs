//! The only reader and writer of the user's tree.
//!
//! A configuration that cannot be read is a diagnostic like any other, so that one run over many files reports them all.

mod agent_lock;
mod boundary;
mod create;
mod disk;
mod load;
mod regular;
mod rules;
mod write;

use std::io::Read as _;
use std::path::{Path, is_separator};
use std::{fs, io};

use crate::compiler::paths;
use regular::{Opened, open};

pub use agent_lock::{UnusableLock, agent_lock};
pub use boundary::Boundary;
pub use create::{Created, create};
pub use disk::{DiskFiles, MAX_FILE, MAX_TOTAL};
pub use load::{Default, MAX_CONFIGURATION, Project, Unreadable, default_config};
pub use rules::RULES;
pub use write::{hidden_directory, write_atomically, write_hidden, write_in_directory, write_private};

/// Directory of the files that agentcli keeps in a project, relative to the configuration's directory.
pub const HOME: &str = ".agentcli";

/// A file or directory of the user's tree that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A directory could not be created or read.
    #[error("cannot create a project in `{path}`: {}", reason(.source))]
    Create {
        /// Its path.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A new project would be among other files.
    #[error("cannot create a project in `{path}`: the directory is not empty ({found})")]
    NotEmpty {
        /// Its path.
        path: String,
        /// Some names in it.
        found: String,
    },
    /// A file could not be written.
    #[error("cannot write `{path}`: {}", reason(.source))]
    Write {
        /// The path as the user wrote it.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let source = match self {
            Error::Create { source, .. } | Error::Write { source, .. } => source,
            Error::NotEmpty { .. } => {
                return Some("choose another directory, or pass --force to add the missing files".to_owned());
            }
        };
        match source.kind() {
            io::ErrorKind::NotFound => Some("create the directory first".to_owned()),
            io::ErrorKind::NotADirectory => Some("choose another path".to_owned()),
            io::ErrorKind::StorageFull => Some("free disk space".to_owned()),
            _ => None,
        }
    }
}

/// How `to` is called from `from`, both directories; links are followed so that `..` means what it says.
pub fn relative(from: &Path, to: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (from, to) = (real(from), real(to));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    paths::normalize(&up.chain(down).collect::<Vec<_>>().join("/"))
}

/// The path with `/` on every system: URIs and patterns need it, and Windows accepts it.
pub fn with_slashes(path: &Path) -> String {
    path.to_string_lossy().replace(is_separator, "/")
}

/// The text of a file, if it can be read.
pub fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The text of a regular file, if it can be read and is not too large. Nothing waits for the writer of a pipe.
pub fn regular_text(path: &Path) -> Option<String> {
    let Opened::File(file, _) = open(&path.canonicalize().ok()?).ok()? else { return None };
    let mut text = String::new();
    let size = file.take(MAX_FILE + 1).read_to_string(&mut text).ok()?;
    (size as u64 <= MAX_FILE).then_some(text)
}

/// The text of an I/O error as a lowercase fragment, without the error number of the operating system.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            text[..text.len().min(1)].to_lowercase() + text.get(1..).unwrap_or_default()
        }
    }
}
