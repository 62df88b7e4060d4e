//! Why the server could not be run.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::live::{Crash, Interrupted};
use crate::{project, watch};

/// What went wrong: what was attempted, on what, why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another `agentcli dev` runs the same project.
    #[error("`{}` is being run already{}", .directory.display(), by(.holder.as_deref()))]
    Busy {
        /// The project.
        directory: PathBuf,
        /// Who runs it.
        holder: Option<String>,
    },
    /// Nothing can be asked over HTTP.
    #[error("cannot ask the server whether it is well: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
    /// The server ended by itself, and there is nothing to wait for.
    #[error("the server ended with {}{}", .0.status, why(.0.cause.as_deref()))]
    Crashed(Box<Crash>),
    /// A directory or file of ours cannot be written.
    #[error("cannot write `{}`: {}", .path.display(), project::reason(.source))]
    Home {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An installer failed; its last lines were told.
    #[error("installing failed: {command} ended with {status}")]
    Install {
        /// What was run.
        command: String,
        /// How it ended.
        status: String,
        /// What can be done, where its words tell.
        hint: Option<String>,
    },
    /// The program was asked to stop before the server was ready.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Packages are missing, and must not be installed.
    #[error("not installed: {}", .missing.join(", "))]
    Missing {
        /// What.
        missing: Vec<String>,
        /// What would install it.
        hint: String,
    },
    /// The project's package manager is not there.
    #[error("the project's packages are installed by {name}, and `{name}` is not on the PATH")]
    NoInstaller {
        /// Its name.
        name: String,
        /// How to get it.
        hint: String,
    },
    /// There is no interpreter that will do.
    #[error("no {wanted} or later found{}", list(.looked))]
    NoInterpreter {
        /// What is looked for.
        wanted: String,
        /// What was found instead, and where.
        looked: Vec<String>,
        /// How to get one.
        hint: String,
    },
    /// The server does not answer.
    #[error("the server does not answer at {url} after {} s{}", .after.as_secs(), why(.cause.as_deref()))]
    NotReady {
        /// Where it was asked.
        url: String,
        /// How long was waited.
        after: Duration,
        /// What it answers instead, or what it said last.
        cause: Option<String>,
    },
    /// Somebody listens on the port, or it may not be used.
    #[error("cannot listen on {host}:{port}: {reason}")]
    Port {
        /// Address.
        host: String,
        /// Port.
        port: u16,
        /// Why.
        reason: String,
        /// What can be done.
        hint: Option<String>,
    },
    /// A file of ours cannot be written.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// A program could not be started or heard.
    #[error("cannot run {program}: {}", project::reason(.source))]
    Run {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// There is no tunnel.
    #[error("no tunnel: {reason}")]
    Tunnel {
        /// Why.
        reason: String,
        /// What can be done.
        hint: String,
    },
    /// The tree cannot be watched.
    #[error(transparent)]
    Watch(#[from] watch::Error),
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } => Some("stop the other one first; both would write the same state".to_owned()),
            Self::Home { .. } => {
                Some("make the directory writable; the environment and state lie in it".to_owned())
            }
            Self::Install { hint, .. } | Self::Port { hint, .. } => hint.clone(),
            Self::Missing { hint, .. }
            | Self::NoInstaller { hint, .. }
            | Self::NoInterpreter { hint, .. }
            | Self::Tunnel { hint, .. } => Some(hint.clone()),
            Self::Project(error) => error.hint(),
            Self::Watch(_) => Some("run it with --no-reload".to_owned()),
            Self::Client { .. }
            | Self::Crashed(_)
            | Self::Interrupted(_)
            | Self::NotReady { .. }
            | Self::Run { .. } => None,
        }
    }
}

fn by(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(", by {holder}"))
}

fn why(why: Option<&str>) -> String {
    why.map_or_else(String::new, |why| format!(": {why}"))
}

fn list(looked: &[String]) -> String {
    if looked.is_empty() { String::new() } else { format!(": {}", looked.join(", ")) }
}
