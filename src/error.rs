//! Errors that end a command: one variant for each room. Only here are blame, hint and exit code decided.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | success |
//! | 1 | invalid configuration or failed operation |
//! | 2 | invalid arguments |
//! | 3 | not authorised |
//! | 4 | try again later |
//! | 70 | a bug in agentcli |
//! | 130 | interrupted |

use crate::cluster::Kind;
use crate::engine::Refusal;
use crate::live::Interrupted;
use crate::{api, cluster, compose, dev, engine, invoke, lsp, project, registry, ship, up};

/// Exit code of a bug, EX_SOFTWARE in sysexits.h.
pub const INTERNAL: u8 = 70;

/// Exit code of an interrupted command, as in shells: 128 plus the number of SIGINT.
const INTERRUPTED: u8 = 130;

/// Standard output or standard error could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the output: {}", project::reason(.0))]
pub struct OutputError(pub std::io::Error);

/// Reason for which a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The deployment service is unreachable or refused.
    #[error(transparent)]
    Api(#[from] api::Error),
    /// A child process exited with an error.
    #[error("the command ended with exit code {code}")]
    Child {
        /// Its exit code, which this program returns.
        code: u8,
    },
    /// The argument parser stopped: invalid arguments, `--help` or `--version`.
    #[error(transparent)]
    Arguments(#[from] clap::Error),
    /// kubectl or the cluster failed, or refused.
    #[error(transparent)]
    Cluster(cluster::Error),
    /// The server cannot run in containers with the user's services.
    #[error(transparent)]
    Compose(compose::Error),
    /// The configuration is invalid; its findings have been reported.
    #[error("the configuration is not valid")]
    Config,
    /// The user answered no.
    #[error("nothing was changed")]
    Declined,
    /// The server cannot run on this machine.
    #[error(transparent)]
    Dev(dev::Error),
    /// The container engine is unreachable, or the build failed.
    #[error(transparent)]
    Engine(engine::Error),
    /// The deployment service of the package agentcli-host failed.
    #[error("{message}")]
    Host {
        /// A lowercase fragment.
        message: String,
        /// The next step.
        hint: Option<String>,
    },
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
    /// A signal stopped the command.
    #[error("interrupted")]
    Interrupted,
    /// A graph of an agent server failed, or the server is unreachable or refused.
    #[error(transparent)]
    Invoke(#[from] invoke::Error),
    /// The lock file of images is unreadable, broken or of another version.
    #[error("cannot use `{place}`: {message}")]
    Lock {
        /// The file, with line and column if they are known.
        place: String,
        /// A lowercase fragment.
        message: String,
        /// The next step.
        hint: String,
    },
    /// The session with an editor failed.
    #[error(transparent)]
    Lsp(#[from] lsp::Error),
    /// The command does not run on Windows.
    #[error("cannot run `agentcli {command}` on Windows: it needs Linux or macOS")]
    NeedsUnix {
        /// The command's name.
        command: String,
    },
    /// No API key for the deployment service is set.
    #[error("no API key for the deployment service is set")]
    NoKey {
        /// How to set one.
        hint: String,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A child process cannot run under a guard.
    #[error("cannot run the command: {}", project::reason(.source))]
    Guard {
        /// The system's reason.
        source: std::io::Error,
    },
    /// The async runtime or the signal handlers cannot be set up.
    #[error("cannot start the async runtime: {}", project::reason(.source))]
    Runtime {
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of the project cannot be read or written.
    #[error(transparent)]
    Project(#[from] project::Error),
    /// An image registry is unreachable or refused, or has no image to start from.
    #[error(transparent)]
    Registry(registry::Error),
    /// The deployment failed.
    #[error(transparent)]
    Ship(ship::Error),
    /// A generated file is not what would be written now.
    #[error("{message}")]
    Stale {
        /// A lowercase fragment.
        message: String,
        /// The next step.
        hint: String,
    },
    /// The server cannot run in containers.
    #[error(transparent)]
    Up(up::Error),
    /// Something is missing on this machine; `doctor` has printed how to get it.
    #[error("missing on this machine: {}", .missing.join(", "))]
    Unready {
        /// The names.
        missing: Vec<String>,
    },
    /// A signal ended the output of a log that was followed, or a run of a graph.
    #[error("interrupted")]
    Unfollowed,
    /// Invalid use of the command line.
    #[error("{message}")]
    Usage {
        /// A lowercase fragment.
        message: String,
        /// What to write instead.
        hint: Option<String>,
    },
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        match error {
            engine::Error::Interrupted(interrupted) => interrupted.into(),
            error => Self::Engine(error),
        }
    }
}

impl From<registry::Error> for Error {
    fn from(error: registry::Error) -> Self {
        match error {
            registry::Error::Interrupted(interrupted) => interrupted.into(),
            error => Self::Registry(error),
        }
    }
}

impl From<up::Error> for Error {
    fn from(error: up::Error) -> Self {
        match error {
            up::Error::Engine(error) => error.into(),
            up::Error::Interrupted(interrupted) => interrupted.into(),
            error => Self::Up(error),
        }
    }
}

impl From<compose::Error> for Error {
    fn from(error: compose::Error) -> Self {
        match error {
            compose::Error::Interrupted(interrupted) => interrupted.into(),
            compose::Error::Up(error) => error.into(),
            error => Self::Compose(error),
        }
    }
}

impl From<cluster::Error> for Error {
    fn from(error: cluster::Error) -> Self {
        match error {
            cluster::Error::Interrupted => Self::Interrupted,
            cluster::Error::Ship(error) => error.into(),
            error => Self::Cluster(error),
        }
    }
}

impl From<dev::Error> for Error {
    fn from(error: dev::Error) -> Self {
        match error {
            dev::Error::Interrupted(interrupted) => interrupted.into(),
            error => Self::Dev(error),
        }
    }
}

impl From<ship::Error> for Error {
    fn from(error: ship::Error) -> Self {
        match error {
            ship::Error::Api(error) => error.into(),
            ship::Error::Declined => Self::Declined,
            ship::Error::Engine(error) => error.into(),
            ship::Error::Interrupted(interrupted) => interrupted.into(),
            ship::Error::Registry(error) => error.into(),
            error => Self::Ship(error),
        }
    }
}

impl Error {
    /// Invalid use of the command line, with the next step as an imperative.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// Invalid use of the command line whose message says all.
    pub fn misused(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: None }
    }

    /// Exit code of the process; see the table above.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Api(error) => api_code(error),
            Error::Arguments(error) => u8::from(error.use_stderr()) * 2,
            Error::Child { code } => *code,
            Error::Cluster(error) => cluster_code(error),
            Error::Config
            | Error::Declined
            | Error::Dev(_)
            | Error::Guard { .. }
            | Error::Host { .. }
            | Error::Lock { .. }
            | Error::Lsp(_)
            | Error::NeedsUnix { .. }
            | Error::Output(_)
            | Error::Project(_)
            | Error::Runtime { .. }
            | Error::Stale { .. }
            | Error::Unready { .. } => 1,
            Error::Interrupted | Error::Unfollowed => INTERRUPTED,
            Error::Ship(error) => ship_code(error),
            Error::NoKey { .. } => 3,
            Error::Engine(error) => engine_code(error),
            Error::Registry(registry::Error::Unauthorized { .. }) => 3,
            Error::Registry(registry::Error::Unavailable { .. }) => 4,
            Error::Registry(_) => 1,
            Error::Invoke(error) => invoke_code(error),
            Error::Up(up::Error::AtWork { .. }) => 4,
            Error::Compose(_) | Error::Up(_) => 1,
            Error::Usage { .. } => 2,
            Error::Internal(_) => INTERNAL,
        }
    }

    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Arguments(_)
            | Error::Child { .. }
            | Error::Config
            | Error::Declined
            | Error::Guard { .. }
            | Error::Output(_)
            | Error::Runtime { .. }
            | Error::Unfollowed
            | Error::Unready { .. } => None,
            Error::Interrupted => {
                Some("run the same command again to continue; completed work is kept".to_owned())
            }
            Error::Internal(_) => Some("this is a bug in agentcli; please report it".to_owned()),
            Error::Api(error) => error.hint(),
            Error::Cluster(error) => error.hint(),
            Error::Compose(error) => error.hint(),
            Error::Dev(error) => error.hint(),
            Error::Engine(error) => error.hint(),
            Error::Invoke(error) => error.hint(),
            Error::Lsp(error) => error.hint(),
            Error::NeedsUnix { .. } => Some("run it in the Windows Subsystem for Linux (WSL)".to_owned()),
            Error::Lock { hint, .. } | Error::NoKey { hint } => Some(hint.clone()),
            Error::Project(error) => error.hint(),
            Error::Registry(error) => error.hint(),
            Error::Ship(error) => error.hint(),
            Error::Up(error) => error.hint(),
            Error::Stale { hint, .. } => Some(hint.clone()),
            Error::Host { hint, .. } | Error::Usage { hint, .. } => hint.clone(),
        }
    }
}

fn api_code(error: &api::Error) -> u8 {
    match error {
        api::Error::Host { .. } | api::Error::Invalid { .. } => 2,
        api::Error::NotAuthorised { .. } => 3,
        api::Error::Deadline { .. }
        | api::Error::Lost { .. }
        | api::Error::TryAgainLater { .. }
        | api::Error::Unreachable { .. } => 4,
        _ => 1,
    }
}

fn cluster_code(error: &cluster::Error) -> u8 {
    match error {
        cluster::Error::Cluster { kind: Kind::Refused, .. } => 2,
        cluster::Error::Cluster { kind: Kind::Denied, .. } => 3,
        cluster::Error::Cluster { kind: Kind::Busy | Kind::Unreachable, .. } => 4,
        _ => 1,
    }
}

fn invoke_code(error: &invoke::Error) -> u8 {
    match error {
        invoke::Error::Address { .. } => 2,
        invoke::Error::Rejected { status: 401 | 403, .. } => 3,
        invoke::Error::Rejected { status: 408 | 429 | 500.., .. } | invoke::Error::Unreachable { .. } => 4,
        _ => 1,
    }
}

fn ship_code(error: &ship::Error) -> u8 {
    match error {
        ship::Error::InterruptedAtService { .. } => INTERRUPTED,
        ship::Error::Pending { .. } => 4,
        ship::Error::Refused { .. } => 2,
        _ => 1,
    }
}

fn engine_code(error: &engine::Error) -> u8 {
    match error {
        engine::Error::Denied { .. }
        | engine::Error::Pull { unauthorized: true, .. }
        | engine::Error::Push { refusal: Refusal::Unauthorized, .. } => 3,
        engine::Error::Gone { .. }
        | engine::Error::Lost { .. }
        | engine::Error::LostPush { .. }
        | engine::Error::Push { refusal: Refusal::Unavailable, .. }
        | engine::Error::Timeout { .. }
        | engine::Error::Unreachable { .. } => 4,
        _ => 1,
    }
}
