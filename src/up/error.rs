//! The errors of a run in containers.

use std::time::Duration;

use crate::live::Interrupted;
use crate::{engine, watch};

/// An error of `up` or `down`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another run of this project, by another machine or user, has just created a container.
    #[error("another `agentcli up` of the project `{project}` is running: it has just created `{name}`")]
    AtWork {
        /// The project.
        project: String,
        /// The container.
        name: String,
    },
    /// The engine.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A service exited by itself or is unhealthy; its last lines were reported.
    #[error("the service `{service}` {status}")]
    Failed {
        /// The service.
        service: String,
        /// Its exit code or state, as a fragment.
        status: String,
    },
    /// An object that does not belong to this project has a name that it needs.
    #[error("the {what} `{name}` exists and does not belong to this project")]
    Foreign {
        /// A network or a volume.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// An image is not here, and must not be pulled.
    #[error("there is no image `{image}` here")]
    NoImage {
        /// Its name.
        image: String,
    },
    /// The server or a service was not ready in time.
    #[error("{what} after {} s", .after.as_secs())]
    NotReady {
        /// Such as ``the service `x` is not healthy``.
        what: String,
        /// The timeout.
        after: Duration,
    },
    /// The engine stopped responding while containers were being stopped.
    #[error(
        "the container engine has not responded for {} s while stopping the containers; they may still be running",
        .after.as_secs()
    )]
    NotStopped {
        /// The timeout.
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
    /// A port is in use.
    #[error("the service `{service}` cannot open port {port}{}", by(.holder.as_deref()))]
    Port {
        /// The service.
        service: String,
        /// The port.
        port: u16,
        /// The program or container that uses it.
        holder: Option<String>,
    },
    /// The project cannot be watched.
    #[error(transparent)]
    Watch(#[from] watch::Error),
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Engine(error) => return error.hint(),
            Self::Interrupted(_) => return None,
            Self::AtWork { .. } => "wait until it has finished, or stop it, and try again",
            Self::Failed { .. } => {
                "fix it and run `agentcli up` again; `agentcli down` removes what was started"
            }
            Self::Foreign { .. } => "remove it, or choose another project name with --project-name",
            Self::NoImage { image } => {
                return Some(format!("omit --no-pull, or run `docker pull {image}`"));
            }
            Self::NotReady { .. } => "read its logs with `agentcli up --verbose`, or raise --wait-timeout",
            Self::NotStopped { .. } => "restart the engine, then run `agentcli down`",
            Self::Port { .. } => "stop what uses it, or choose another port",
            Self::Taken { .. } => "choose another project name with --project-name",
            Self::Watch(_) => "omit --watch",
        };
        Some(hint.to_owned())
    }
}

fn by(holder: Option<&str>) -> String {
    holder.map_or_else(|| ": it is in use".to_owned(), |holder| format!(": it is in use by {holder}"))
}
