//! Errors of the container engine.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::events::Step;
use super::local::SCHEME;
use super::reference::registry;
use crate::compiler::server::CONSTRAINTS;
use crate::context;
use crate::live::Interrupted;

/// Maximum length of the instruction in an error, in characters: the error is one line.
const MAX_SUMMARY: usize = 60;

/// A failed operation of the container engine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of Docker's cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The build context cannot be read.
    #[error(transparent)]
    Context(#[from] context::Error),
    /// The user has no permission for the engine's socket.
    #[error("cannot connect to the container engine at `{host}`: permission denied")]
    Denied {
        /// The engine's address.
        host: String,
    },
    /// An engine that loses the build context.
    /// Source: Docker's defect 47717, mended in version 27.5.
    #[error(
        "the container engine lost the build context: Docker before 27.5 does so with the containerd image store"
    )]
    ContextLost,
    /// The engine disconnected.
    #[error("lost the connection to the container engine at `{host}`: {reason}")]
    Gone {
        /// The engine's address.
        host: String,
        /// The cause, as far as it is known.
        reason: String,
    },
    /// The engine disconnected during a build.
    #[error("lost the connection to the container engine at `{host}` during the build: {reason}")]
    Lost {
        /// The engine's address.
        host: String,
        /// The cause, as far as it is known.
        reason: String,
    },
    /// The program was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There is another container of this name.
    #[error("cannot create the container `{name}`: the name is in use")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The engine disconnected during a push.
    #[error(
        "cannot push to `{repository}`: lost the connection to the container engine at `{host}`: {reason}"
    )]
    LostPush {
        /// The engine's address.
        host: String,
        /// The target of the push.
        repository: String,
        /// The cause, as far as it is known.
        reason: String,
    },
    /// The Docker context that `DOCKER_CONTEXT` or `config.json` selects does not exist.
    #[error("the Docker context `{name}` does not exist, or has no engine")]
    NoContext {
        /// Name of the context.
        name: String,
    },
    /// No engine runs at any of the default addresses.
    #[error("no container engine found at {}", .tried.join(", "))]
    NoEngine {
        /// The addresses, in order.
        tried: Vec<String>,
    },
    /// The engine does not support secrets and SSH agents.
    #[error("cannot pass secrets or SSH agents to the container engine at `{host}`: {reason}")]
    NoSecrets {
        /// The engine's address.
        host: String,
        /// The cause, as a lowercase fragment.
        reason: String,
    },
    /// There is no such local image.
    #[error("there is no local image `{image}`")]
    NoImage {
        /// Its name or ID.
        image: String,
    },
    /// A port of a container is in use.
    #[error("cannot start the container `{name}`: port {port} is in use")]
    PortTaken {
        /// The port.
        port: u16,
        /// The container.
        name: String,
    },
    /// An image cannot be pulled.
    #[error("cannot pull the image `{image}`: {reason}")]
    Pull {
        /// The image, as the engine names it: `docker.io/library/…` for short names.
        image: String,
        /// The engine's message.
        reason: String,
        /// Whether the registry requires other credentials.
        unauthorized: bool,
    },
    /// An image cannot be pushed.
    #[error("cannot push `{image}`: {reason}")]
    Push {
        /// The image, with its registry.
        image: String,
        /// The message of the engine or the registry.
        reason: String,
        /// The type of the reason.
        refusal: Refusal,
    },
    /// The engine rejected the request, or the build failed outside of a step.
    #[error("the container engine rejected the build: {reason}")]
    Refused {
        /// The engine's message.
        reason: String,
    },
    /// The engine rejected a request.
    #[error("the container engine did not {what}: {reason}")]
    Request {
        /// The operation, such as ``start the container `x` ``.
        what: String,
        /// The HTTP status of its response.
        status: u16,
        /// The engine's message.
        reason: String,
    },
    /// A step of the Dockerfile failed.
    #[error("the build failed at {0}")]
    Step(Box<FailedStep>),
    /// The engine did not respond in time.
    #[error("the container engine at `{host}` did not {what} within {} s", .after.as_secs())]
    Timeout {
        /// The engine's address.
        host: String,
        /// The operation, such as ``start the container `x` ``.
        what: String,
        /// The deadline.
        after: Duration,
    },
    /// The engine does not respond.
    #[error("cannot connect to the container engine at `{host}`: {reason}")]
    Unreachable {
        /// The engine's address.
        host: String,
        /// The cause, as far as it is known.
        reason: String,
    },
    /// The connection cannot be made secure.
    #[error("cannot make a secure connection to the container engine at `{host}`: {reason}")]
    Tls {
        /// The engine's address.
        host: String,
        /// The reason.
        reason: String,
    },
    /// The scheme of the address is not supported.
    #[error("cannot connect to the container engine at `{host}`: {reason}")]
    Unsupported {
        /// The engine's address.
        host: String,
        /// The reason.
        reason: String,
    },
}

/// The type of a failed push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The registry requires other credentials.
    Unauthorized,
    /// The registry is unreachable or unavailable; a retry may succeed.
    Unavailable,
    /// Another type.
    Other,
}

impl Refusal {
    /// The type of a message of an engine.
    pub(super) fn from_reason(reason: &str) -> Self {
        let reason = reason.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        if is_unauthorized(&reason) {
            Self::Unauthorized
        } else if is_unavailable(&reason)
            || has(&[
                "eof",
                "connection re",
                "timeout",
                "timed out",
                "no route",
                "no such host",
                "unreachable",
            ])
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

/// Whether the HTTP status of the registry, if the message has one, is temporary.
fn is_unavailable(reason: &str) -> bool {
    let status = ["http status: ", "parsing http "].iter().find_map(|words| reason.split_once(words));
    let status = status.and_then(|(_, rest)| rest.get(..3)?.parse::<u16>().ok());
    status.is_some_and(|status| status == 429 || status >= 500)
}

/// Whether the message of an engine says that a registry requires other credentials.
pub(super) fn is_unauthorized(reason: &str) -> bool {
    let words = [
        "unauthorized",
        "authentication required",
        "authorization failed",
        "access denied",
        "401 ",
        "403 ",
        "denied:",
        "no basic auth",
    ];
    words.iter().any(|word| reason.contains(word))
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// The step.
    pub step: Step,
    /// The exit code, if a command failed.
    pub code: Option<i64>,
    /// The last lines that the step printed, at most 20.
    pub last_lines: Vec<String>,
    /// The engine's message.
    pub reason: String,
}

impl FailedStep {
    /// Whether a package index asked uv or pip for credentials.
    fn is_unauthorized(&self) -> bool {
        let signs = ["401 Unauthorized", "HTTP error 401"];
        self.has_line_with(&signs)
    }

    /// Whether uv or pip found no versions that the project and the server, whose bounds are constraints, both accept.
    fn has_conflict(&self) -> bool {
        let is_installation = self.step.name.contains(CONSTRAINTS);
        is_installation && self.has_line_with(&["No solution found", "ResolutionImpossible"])
    }

    fn has_line_with(&self, signs: &[&str]) -> bool {
        self.last_lines.iter().any(|line| signs.iter().any(|sign| line.contains(sign)))
    }
}

impl fmt::Display for FailedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(number), Some(total)) = (self.step.number, self.step.total) {
            write!(f, "step {number} of {total}, ")?;
        }
        let summary = self.step.summary();
        match summary.char_indices().nth(MAX_SUMMARY) {
            Some((end, _)) => write!(f, "`{}…`: {}", &summary[..end], self.reason),
            None => write!(f, "`{summary}`: {}", self.reason),
        }
    }
}

impl Error {
    /// Whether there is no engine to talk to.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NoEngine { .. } | Self::Unreachable { .. })
    }

    /// Whether the registry of an image that is to be pulled cannot be reached.
    pub fn is_unreachable_registry(&self) -> bool {
        matches!(self, Self::Pull { reason, .. } if Refusal::from_reason(reason) == Refusal::Unavailable)
    }

    /// Whether a retry may succeed.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Error::LostPush { .. } | Error::Push { refusal: Refusal::Unavailable, .. })
    }

    /// Whether a registry denied a push.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self, Error::Push { refusal: Refusal::Unauthorized, .. })
    }

    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Context(error) => return error.hint(),
            Error::Denied { .. } => {
                "join the docker group (`sudo usermod -aG docker $USER`, then log in again), or set DOCKER_HOST to a \
                 rootless engine"
            }
            Error::Step(failed) if failed.is_unauthorized() => {
                "give the credentials of the package index with --secret id=netrc,src=FILE"
            }
            Error::Step(failed) if failed.has_conflict() => {
                "change the requirement that conflicts with the server's, or choose an older server with `api_version`"
            }
            Error::ContextLost => "update Docker, or turn off its containerd image store",
            Error::Gone { .. } => "check that the engine is running, and run the same command again",
            Error::NameTaken { .. } => {
                "rename or remove that container, or choose another project name with --project-name"
            }
            Error::PortTaken { .. } => "stop the program that uses the port, or choose another port",
            Error::Lost { .. } => "check the engine's log, and build again; completed steps are cached",
            Error::LostPush { .. } => {
                "check the engine's log, and run the same command again; layers that the registry has are not sent again"
            }
            Error::NoImage { .. } => {
                "build it, or get it with `docker pull`; `docker images` shows all local images"
            }
            Error::Push { refusal: Refusal::Unauthorized, image, .. } => {
                return Some(format!(
                    "the registry does not accept the credentials: log in to your own registry with `docker login {}`; \
                     those of the deployment service may have expired, so run the same command again, or contact its \
                     operator",
                    registry(image)
                ));
            }
            Error::Push { refusal: Refusal::Unavailable, .. } => {
                "check that the container engine reaches the registry, and run the same command again; layers that the \
                 registry has are not sent again"
            }
            Error::NoContext { .. } => {
                "run `docker context ls` to see all contexts and `docker context use` to select one, or set DOCKER_HOST"
            }
            Error::NoEngine { .. } => {
                "install and start Docker (https://docs.docker.com/get-docker/) or Podman's socket (`systemctl --user \
                 start podman.socket`), or set DOCKER_HOST to the address of an engine"
            }
            Error::NoSecrets { .. } => "build with Docker: --secret and --ssh need BuildKit",
            Error::Pull { unauthorized: true, .. } => {
                "log in with `docker login REGISTRY`, or check the name of the image"
            }
            Error::Pull { .. } => {
                "check the name and the tag of the image, and that the engine reaches the registry; --no-pull uses a local \
                 image, if there is one"
            }
            Error::Tls { .. } => "set DOCKER_CERT_PATH to the directory of ca.pem, cert.pem and key.pem",
            Error::Timeout { .. } => {
                "check that the engine responds (`docker version`), or restart it; then run this again"
            }
            Error::Unreachable { .. } => {
                "check that the engine is running, and that DOCKER_HOST or the Docker context has its address"
            }
            Error::Unsupported { host, .. } if host.starts_with("ssh://") => {
                "forward its socket, `ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock USER@HOST`, and set \
                 DOCKER_HOST=unix:///tmp/docker.sock"
            }
            Error::Unsupported { .. } => {
                return Some(format!("set DOCKER_HOST to an address that starts with {SCHEME}:// or tcp://"));
            }
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
