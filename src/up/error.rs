//! Why the setup could not be run.

use std::time::Duration;

use crate::live::Interrupted;
use crate::{engine, watch};

/// What went wrong: what was attempted, on what, why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another run of this project, on another machine or another user's, has made a container meanwhile.
    #[error(
        "another `agentcli up` of the project `{project}` is at work: it has just made the container `{name}`"
    )]
    AtWork {
        /// The project.
        project: String,
        /// The container.
        name: String,
    },
    /// Nothing can be asked over HTTP.
    #[error("cannot ask the server whether it is well: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
    /// The engine.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A service ended by itself, or is not well; its last lines were told.
    #[error("the service `{service}` {status}")]
    Failed {
        /// Which.
        service: String,
        /// How it ended, or what is wrong, as a fragment.
        status: String,
    },
    /// Something has a name that this project needs, and is no part of it.
    #[error("there is a {what} `{name}` that is no part of this project")]
    Foreign {
        /// A network or a volume.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// An image is not here, and may not be pulled.
    #[error("there is no image `{image}` here")]
    NoImage {
        /// Its name.
        image: String,
    },
    /// It takes too long.
    #[error("{what} after {} s", .after.as_secs())]
    NotReady {
        /// What is not, such as ``the service `x` is not healthy``.
        what: String,
        /// How long was waited.
        after: Duration,
    },
    /// Another directory's project has the same name.
    #[error("the project name `{project}` is taken by the containers of `{directory}`")]
    Taken {
        /// The name.
        project: String,
        /// The other's directory.
        directory: String,
    },
    /// A port is somebody else's.
    #[error("the service `{service}` cannot open port {port}{}", by(.holder.as_deref()))]
    Port {
        /// The service.
        service: String,
        /// The port.
        port: u16,
        /// Whose it is.
        holder: Option<String>,
    },
    /// The tree cannot be watched.
    #[error(transparent)]
    Watch(#[from] watch::Error),
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Engine(error) => return error.hint(),
            Self::Client { .. } | Self::Interrupted(_) => return None,
            Self::AtWork { .. } => "let it finish, or end it, and run this again",
            Self::Failed { .. } => {
                "mend it and run `agentcli up` again; `agentcli down` removes what was started"
            }
            Self::Foreign { .. } => "remove it, or choose another name with --project-name",
            Self::NoImage { image } => {
                return Some(format!("leave out --no-pull, or get it with `docker pull {image}`"));
            }
            Self::NotReady { .. } => {
                "look at its logs with `agentcli up --verbose`, or wait longer with --wait-timeout"
            }
            Self::Port { .. } => "stop what listens there, or choose another port",
            Self::Taken { .. } => "choose another name with --project-name",
            Self::Watch(_) => "run it without --watch",
        };
        Some(hint.to_owned())
    }
}

fn by(holder: Option<&str>) -> String {
    holder.map_or_else(|| ": it is taken".to_owned(), |holder| format!(": it is taken by {holder}"))
}
