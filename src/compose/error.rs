//! Why the setup could not be run together with the user's services.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::live::Interrupted;
use crate::{project, up};

/// What went wrong: what was attempted, on what, why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing can be asked over HTTP.
    #[error("cannot ask the server whether it is well: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
    /// Compose failed; what it said was told.
    #[error("`{command}` failed with {status}")]
    Failed {
        /// What a user would type for it, in short.
        command: String,
        /// How it ended.
        status: String,
    },
    /// The directory for what is kept in a project cannot be written.
    #[error("cannot write `{}`: {}", .path.display(), project::reason(.source))]
    Home {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There is no compose of today.
    #[error("docker compose is needed for the services of `{}`, and {}", .file.display(), .found.as_deref().map_or_else(|| "is not installed".to_owned(), |old| format!("version {old} is too old")))]
    Missing {
        /// The user's file.
        file: PathBuf,
        /// The version that there is, where it is too old.
        found: Option<String>,
    },
    /// The user's file is not there.
    #[error("there is no file `{}`", .file.display())]
    NoFile {
        /// It.
        file: PathBuf,
    },
    /// It takes too long.
    #[error("the server does not answer after {} s", .after.as_secs())]
    NotReady {
        /// How long was waited.
        after: Duration,
    },
    /// The user's tree refused.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// The system starts no process.
    #[error("cannot start a process: {}", project::reason(.source))]
    Start {
        /// Why.
        #[from]
        source: io::Error,
    },
    /// The images of the setup.
    #[error(transparent)]
    Up(#[from] up::Error),
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Project(error) => return error.hint(),
            Self::Up(error) => return error.hint(),
            Self::Client { .. } | Self::Interrupted(_) | Self::Start { .. } => return None,
            Self::Failed { .. } => "what it said is above; `--no-pull` uses the images that are here",
            Self::Home { .. } => "make the directory writable",
            Self::Missing { .. } => {
                "install its plugin (docker-compose-plugin), or leave out --docker-compose: all else needs the engine alone"
            }
            Self::NoFile { .. } => "name a compose file with --docker-compose",
            Self::NotReady { .. } => {
                "look at its logs with `agentcli up --verbose`, or wait longer with --wait-timeout"
            }
        };
        Some(hint.to_owned())
    }
}
