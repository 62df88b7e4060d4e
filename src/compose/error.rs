//! The errors of a run with services of the user.

use std::io;
use std::path::PathBuf;

use crate::live::Interrupted;
use crate::{project, up};

/// An error of `up` or `down` with services of the user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Compose failed; its output was reported.
    #[error("`{command}` failed with {status}")]
    Failed {
        /// The command, in short.
        command: String,
        /// Its exit code or signal.
        status: String,
    },
    /// The directory of our files in the project cannot be written.
    #[error("cannot write `{}`: {}", .path.display(), project::reason(.source))]
    Home {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Compose is missing or too old.
    #[error("docker compose is needed for the services of `{}`, and {}", .file.display(), .found.as_deref().map_or_else(|| "is not installed".to_owned(), |old| format!("version {old} is too old")))]
    Missing {
        /// The user's file.
        file: PathBuf,
        /// The version that was found, if it is too old.
        found: Option<String>,
    },
    /// The user's file does not exist.
    #[error("there is no file `{}`", .file.display())]
    NoFile {
        /// The file.
        file: PathBuf,
    },
    /// A file of the project cannot be written.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A process cannot be started.
    #[error("cannot start a process: {}", project::reason(.source))]
    Start {
        /// The cause.
        #[from]
        source: io::Error,
    },
    /// An image of the setup cannot be built or pulled, the project cannot be run, or the server is not ready in time.
    #[error(transparent)]
    Up(#[from] up::Error),
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Project(error) => return error.hint(),
            Self::Up(error) => return error.hint(),
            Self::Interrupted(_) | Self::Start { .. } => return None,
            Self::Failed { .. } => "its output is above; --no-pull uses local images",
            Self::Home { .. } => "make the directory writable",
            Self::Missing { .. } => "install the package docker-compose-plugin, or omit --docker-compose",
            Self::NoFile { .. } => "pass an existing compose file with --docker-compose",
        };
        Some(hint.to_owned())
    }
}
