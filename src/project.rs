//! The only reader and writer of the user's tree.
//!
//! A configuration that cannot be read is a finding like any other, so that one run over many files shows them all.

mod disk;
mod load;
mod rules;
mod write;

use std::path::Path;
use std::{fs, io};

pub use disk::DiskFiles;
pub use load::{Default, Project, Unreadable, default_config};
pub use rules::RULES;
pub use write::{hidden_directory, write_atomically};

/// Where everything lies that this program keeps in a project, relative to the configuration's directory.
pub const HOME: &str = ".agentcli";

/// What the user's tree refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be written.
    #[error("`{path}` cannot be written: {}", reason(.source))]
    Write {
        /// As the user named it.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let Error::Write { source, .. } = self;
        match source.kind() {
            io::ErrorKind::NotFound => Some("create the directory first".to_owned()),
            io::ErrorKind::StorageFull => Some("make room on the disk".to_owned()),
            _ => None,
        }
    }
}

/// The text of a file, where there is one.
pub fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Why the system refused, as a lowercase fragment without its number.
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
