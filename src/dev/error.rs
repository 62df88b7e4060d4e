//! The errors of `dev`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::live::{Crash, Interrupted};
use crate::{project, watch};

/// An error of `dev`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another `agentcli dev` runs the same project.
    #[error("`{}` is already running{}", .directory.display(), by(.holder.as_deref()))]
    Busy {
        /// The project.
        directory: PathBuf,
        /// The process that runs it.
        holder: Option<String>,
    },
    /// The server exited by itself, and no changes are watched.
    #[error("the server ended with {}{}", .0.status, why(.0.cause.as_deref()))]
    Crashed(Box<Crash>),
    /// The database has no tables for the server, and cannot get them.
    #[error("{reason}")]
    Databases {
        /// The failed attempt, and its cause.
        reason: String,
    },
    /// A directory or file of ours cannot be written.
    #[error("cannot write `{}`: {}", .path.display(), project::reason(.source))]
    Home {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An installer failed; its last lines were reported.
    #[error("installing failed: {command} ended with {status}")]
    Install {
        /// The command.
        command: String,
        /// Its exit code or signal.
        status: String,
        /// The next step, if its output suggests one.
        hint: Option<String>,
    },
    /// The program was asked to stop before the server was ready.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Packages are missing, and must not be installed.
    #[error("not installed: {}", .missing.join(", "))]
    Missing {
        /// The packages.
        missing: Vec<String>,
    },
    /// The project's package manager is missing.
    #[error("cannot install the project's packages: `{name}` is not on the PATH")]
    NoInstaller {
        /// Its name.
        name: String,
        /// How to get it.
        hint: String,
    },
    /// No interpreter is suitable.
    #[error("no {wanted} found{}", list(.rejected))]
    NoInterpreter {
        /// The suitable versions.
        wanted: String,
        /// The interpreters that were found, and why they are unsuitable.
        rejected: Vec<String>,
        /// How to get one.
        hint: String,
    },
    /// The server does not answer.
    #[error("the server does not answer at {url} after {} s{}", .after.as_secs(), why(.cause.as_deref()))]
    NotReady {
        /// The URL of the health check.
        url: String,
        /// The timeout.
        after: Duration,
        /// Its answer instead, or its last line.
        cause: Option<String>,
    },
    /// The port is in use, or must not be used.
    #[error("cannot listen on {host}:{port}: {reason}")]
    Port {
        /// Address.
        host: String,
        /// Port.
        port: u16,
        /// The cause.
        reason: String,
        /// The next step.
        hint: Option<String>,
    },
    /// A file of ours cannot be written.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A program cannot be started, or its output cannot be read.
    #[error("cannot run {program}: {}", project::reason(.source))]
    Run {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// The tunnel cannot be opened.
    #[error("cannot open the tunnel: {reason}")]
    Tunnel {
        /// The cause.
        reason: String,
        /// The next step.
        hint: String,
    },
    /// The project cannot be watched.
    #[error(transparent)]
    Watch(#[from] watch::Error),
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } => {
                Some("stop the other process first; both would write the same state".to_owned())
            }
            Self::Databases { .. } => Some(
                "check that the database runs, and that this machine reaches it: containers only on Linux, others at the \
                 address of --postgres-uri"
                    .to_owned(),
            ),
            Self::Home { .. } => Some("make the directory writable".to_owned()),
            Self::Install { hint, .. } | Self::Port { hint, .. } => hint.clone(),
            Self::Missing { .. } => Some("omit --no-install to install it".to_owned()),
            Self::NoInstaller { hint, .. }
            | Self::NoInterpreter { hint, .. }
            | Self::Tunnel { hint, .. } => Some(hint.clone()),
            Self::Project(error) => error.hint(),
            Self::Watch(_) => Some("pass --no-reload".to_owned()),
            Self::Crashed(crash) => crash.hint.clone(),
            Self::Interrupted(_) | Self::NotReady { .. } | Self::Run { .. } => None,
        }
    }
}

fn by(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(" ({holder})"))
}

fn why(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

fn list(rejected: &[String]) -> String {
    if rejected.is_empty() { String::new() } else { format!(": {}", rejected.join(", ")) }
}
