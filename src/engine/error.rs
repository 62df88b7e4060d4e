//! Why an engine could not be reached, or did not do what it was asked to.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::events::Step;
use crate::context;
use crate::live::Interrupted;

/// What went wrong with the engine: what was attempted, on what, why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of Docker's own files cannot be used.
    #[error("cannot use `{}`: {reason}", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The context cannot be read.
    #[error(transparent)]
    Context(#[from] context::Error),
    /// The user may not use the engine's socket.
    #[error("not allowed to use the container engine at `{host}`")]
    Denied {
        /// The engine's address.
        host: String,
    },
    /// The connection broke, or the engine ended.
    #[error("the container engine at `{host}` is gone: {reason}")]
    Gone {
        /// The engine's address.
        host: String,
        /// What is known of why.
        reason: String,
    },
    /// The connection broke, or the engine ended, in the midst of a build.
    #[error("the container engine at `{host}` broke off the build: {reason}")]
    Lost {
        /// The engine's address.
        host: String,
        /// What is known of why.
        reason: String,
    },
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There is a container of this name already.
    #[error("the container name `{name}` is taken")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The connection broke, or the engine ended, in the midst of a push.
    #[error("the container engine at `{host}` broke off the push to `{repository}`: {reason}")]
    LostPush {
        /// The engine's address.
        host: String,
        /// Where the image was to go.
        repository: String,
        /// What is known of why.
        reason: String,
    },
    /// `DOCKER_CONTEXT`, or Docker's configuration, names a context that is not there.
    #[error("the docker context `{name}` does not exist or names no engine")]
    NoContext {
        /// The context's name.
        name: String,
    },
    /// No engine was found at any of the usual places.
    #[error("no container engine found: there is none at {}", .looked.join(", "))]
    NoEngine {
        /// The places, in the order in which they were tried.
        looked: Vec<String>,
    },
    /// There is no such image on the engine.
    #[error("there is no image `{image}` here")]
    NoImage {
        /// Its name or id.
        image: String,
    },
    /// A port of the engine's machine that a container opens is somebody else's.
    #[error("cannot start the container `{name}`: port {port} is taken")]
    PortTaken {
        /// The port.
        port: u16,
        /// The container.
        name: String,
    },
    /// An image cannot be had.
    #[error("cannot get the image `{image}`: {reason}")]
    Pull {
        /// The image, as the engine names it: `docker.io/library/…` for short names.
        image: String,
        /// Why, in the engine's words.
        reason: String,
        /// Whether the registry wants (other) credentials.
        unauthorized: bool,
    },
    /// An image cannot be pushed.
    #[error("cannot push `{image}`: {reason}")]
    Push {
        /// The image, with the registry that it was to go to.
        image: String,
        /// Why, in the engine's or the registry's words.
        reason: String,
        /// What kind of a reason that is.
        refusal: Refusal,
    },
    /// The engine does not accept the request, or ended the build outside any step.
    #[error("the container engine refused to build: {reason}")]
    Refused {
        /// Why, in the engine's words.
        reason: String,
    },
    /// The engine does not do one thing.
    #[error("the container engine did not {what}: {reason}")]
    Request {
        /// What it was asked to do, such as ``start the container `x` ``.
        what: String,
        /// The HTTP status of its answer.
        status: u16,
        /// The engine's words.
        reason: String,
    },
    /// A step of the Dockerfile failed.
    #[error("the build failed at {0}")]
    Step(Box<FailedStep>),
    /// The engine did not answer in time.
    #[error("the container engine at `{host}` did not {what} within {} s", .after.as_secs())]
    Timeout {
        /// The engine's address.
        host: String,
        /// What it was asked to do, such as ``start the container `x` ``.
        what: String,
        /// The deadline.
        after: Duration,
    },
    /// The engine does not answer.
    #[error("the container engine at `{host}` does not answer: {reason}")]
    Unreachable {
        /// The engine's address.
        host: String,
        /// What was tried.
        reason: String,
    },
    /// The connection cannot be made secure.
    #[error("cannot make a secure connection to the container engine at `{host}`: {reason}")]
    Tls {
        /// The engine's address.
        host: String,
        /// Why.
        reason: String,
    },
    /// The address is of a kind that is not supported.
    #[error("cannot connect to the container engine at `{host}`: {reason}")]
    Unsupported {
        /// The engine's address.
        host: String,
        /// Why.
        reason: String,
    },
}

/// Why a registry does not take an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It wants (other) credentials.
    Unauthorized,
    /// It is not there, or not well: another time it may.
    Unavailable,
    /// Anything else.
    Other,
}

impl Refusal {
    /// What the engine's words mean.
    pub(super) fn of(reason: &str) -> Self {
        let reason = reason.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        if is_unauthorized(&reason) {
            Self::Unauthorized
        } else if is_unwell(&reason)
            || has(&["eof", "connection re", "timeout", "timed out", "no route", "no such host"])
            || has(&[
                "500 internal",
                "502 bad",
                "503 service",
                "504 gateway",
                "429 too many",
                "toomanyrequests",
            ])
        {
            Self::Unavailable
        } else {
            Self::Other
        }
    }
}

/// Whether the status that a registry answered, where an engine tells it, says that another time may be better.
fn is_unwell(reason: &str) -> bool {
    let status = ["http status: ", "parsing http "].iter().find_map(|words| reason.split_once(words));
    let status = status.and_then(|(_, rest)| rest.get(..3)?.parse::<u16>().ok());
    status.is_some_and(|status| status == 429 || status >= 500)
}

/// Whether the words of an engine say that a registry wants (other) credentials.
pub(super) fn is_unauthorized(reason: &str) -> bool {
    let words =
        ["unauthorized", "authorization failed", "access denied", "401 ", "403 ", "denied:", "no basic auth"];
    words.iter().any(|word| reason.contains(word))
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// The step: its instruction, its number, where in the configuration it comes from.
    pub step: Step,
    /// The exit code of the command, where it was a command that failed.
    pub code: Option<i64>,
    /// The last lines that the step printed, at most 20.
    pub last_lines: Vec<String>,
    /// Why, in the engine's words.
    pub reason: String,
}

impl fmt::Display for FailedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(number), Some(total)) = (self.step.number, self.step.total) {
            write!(f, "step {number} of {total}, ")?;
        }
        write!(f, "`{}`: {}", self.step.name, self.reason)
    }
}

impl Error {
    /// Whether the same may well work in a moment.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Error::LostPush { .. } | Error::Push { refusal: Refusal::Unavailable, .. })
    }

    /// Whether a registry does not let the engine in.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self, Error::Push { refusal: Refusal::Unauthorized, .. })
    }

    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Context(error) => return error.hint(),
            Error::Denied { .. } => {
                "join the docker group (`sudo usermod -aG docker $USER`, then log in again), or set DOCKER_HOST to an \
                 engine of your own"
            }
            Error::Gone { .. } => "check that the engine runs, then try again: what is there is used",
            Error::NameTaken { .. } => {
                "rename or remove that container, or choose another name with --project-name"
            }
            Error::PortTaken { .. } => "stop what listens there, or choose another port",
            Error::Lost { .. } => "see the engine's log, and build again: what is done is kept",
            Error::LostPush { .. } => {
                "see the engine's log, and try again: layers that are there are not sent again"
            }
            Error::NoImage { .. } => "list the images that there are with `docker images`",
            Error::Push { refusal: Refusal::Unauthorized, .. } => {
                "the registry does not accept the credentials that it was given; they may have expired, so try again, \
                 or ask who runs it"
            }
            Error::Push { refusal: Refusal::Unavailable, .. } => {
                "check that the container engine reaches the registry, and try again: layers that are there are not \
                 sent again"
            }
            Error::NoContext { .. } => {
                "list the contexts with `docker context ls` and choose one with `docker context use`, or set DOCKER_HOST"
            }
            Error::NoEngine { .. } => {
                "install and start Docker (https://docs.docker.com/get-docker/) or Podman's socket (`systemctl --user \
                 start podman.socket`), or set DOCKER_HOST to where one listens"
            }
            Error::Pull { unauthorized: true, .. } => {
                "log in with `docker login REGISTRY`, or check the image's name"
            }
            Error::Pull { .. } => {
                "check the image's name and tag, and whether this machine reaches the registry; --no-pull uses the image \
                 that is here"
            }
            Error::Tls { .. } => {
                "DOCKER_CERT_PATH must name the directory of the engine's ca.pem, cert.pem and key.pem"
            }
            Error::Timeout { .. } => {
                "check that the engine responds (`docker version`), or restart it; then run this again"
            }
            Error::Unreachable { .. } => {
                "check that the engine runs, and that DOCKER_HOST or the docker context is right"
            }
            Error::Unsupported { host, .. } if host.starts_with("ssh://") => {
                "forward its socket, `ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock USER@HOST`, and set \
                 DOCKER_HOST=unix:///tmp/docker.sock"
            }
            Error::Unsupported { .. } => "give an address that starts with unix://, tcp:// or npipe://",
            Error::Config { .. }
            | Error::Interrupted(_)
            | Error::Push { refusal: Refusal::Other, .. }
            | Error::Refused { .. }
            | Error::Request { .. }
            | Error::Step { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
