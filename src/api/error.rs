//! Why a call of the deployment service failed.

use std::fmt;
use std::time::Duration;

/// Which call: its method, and its path without the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `GET` and the like.
    pub method: String,
    /// `/v2/deployments`; of an upload, only that it is one.
    pub path: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{} {}`", self.method, self.path)
    }
}

/// What went wrong with the deployment service: which call, what it answered. No key, secret or query is in it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The archive cannot be read.
    #[error("the archive cannot be read: {0}")]
    Archive(#[source] std::io::Error),
    /// There is something of that name, or it changed meanwhile: status 409.
    #[error("{call} is in conflict with what there is: {detail}")]
    Conflict {
        /// What was called.
        call: Call,
        /// What the service says.
        detail: String,
    },
    /// The service took too long.
    #[error("{call} had no answer within {:.0} s", .patience.as_secs_f64().max(1.0))]
    Deadline {
        /// What was called.
        call: Call,
        /// How long was waited, all attempts together.
        patience: Duration,
    },
    /// The address of the service is none, or cannot be used.
    #[error("`{host}` is not the address of a deployment service: {reason}")]
    Host {
        /// What was given, without user and password.
        host: String,
        /// Why.
        reason: String,
    },
    /// The request breaks a rule of the specification; nothing was sent.
    #[error("{message}")]
    Invalid {
        /// A lowercase fragment.
        message: String,
    },
    /// The connection broke, every time that it was tried.
    #[error("{call} got no answer from `{host}`: {reason}")]
    Lost {
        /// What was called.
        call: Call,
        /// Scheme, host and port.
        host: String,
        /// What is known of why.
        reason: String,
    },
    /// The answer is not what the specification says.
    #[error("{call} got an answer that cannot be understood: {reason}")]
    Malformed {
        /// What was called.
        call: Call,
        /// What is wrong with it.
        reason: String,
    },
    /// No deployment has this name.
    #[error("there is no deployment named `{name}`")]
    NoDeployment {
        /// The name.
        name: String,
    },
    /// The key is wrong, or allows something else: status 401 or 403.
    #[error("{call} is not allowed: {detail}")]
    NotAuthorised {
        /// What was called.
        call: Call,
        /// What the service says.
        detail: String,
    },
    /// There is no such thing: status 404.
    #[error("{call} found nothing: {detail}")]
    NotFound {
        /// What was called.
        call: Call,
        /// What the service says.
        detail: String,
    },
    /// The answer points elsewhere. The key is not taken there.
    #[error("{call} was sent on to `{target}`, and not followed")]
    Redirected {
        /// What was called.
        call: Call,
        /// Scheme, host and port, where they can be read.
        target: String,
    },
    /// The service does not accept the request: another status from 400 to 499.
    #[error("{call} was refused with status {status}: {detail}")]
    Rejected {
        /// What was called.
        call: Call,
        /// The status.
        status: u16,
        /// What the service says.
        detail: String,
    },
    /// The connection cannot be made secure.
    #[error("cannot make a secure connection to `{host}`: {reason}")]
    Tls {
        /// Scheme, host and port.
        host: String,
        /// Why.
        reason: String,
    },
    /// The service is busy or broken, every time that it was tried: status 429, or from 500 on. Or the address of an
    /// upload is no longer valid: status 401 or 403.
    #[error("{call} failed with status {status}: {detail}")]
    TryAgainLater {
        /// What was called.
        call: Call,
        /// The status.
        status: u16,
        /// What the service says.
        detail: String,
    },
    /// Nobody listens at the address.
    #[error("nobody answers at `{host}`: {reason}")]
    Unreachable {
        /// Scheme, host and port.
        host: String,
        /// What was tried.
        reason: String,
    },
}

impl Error {
    /// Whether the service may be back after a while.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Error::Deadline { .. }
                | Error::Lost { .. }
                | Error::TryAgainLater { .. }
                | Error::Unreachable { .. }
        )
    }

    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NotAuthorised { detail, .. } if detail.contains("workspace") => {
                "set PLATFORM_TENANT_ID to the ID of the workspace, in the environment or in .env"
            }
            Error::NotAuthorised { .. } => {
                "check the key (--api-key or AGENT_HOST_API_KEY; -v says which one was used), and that it has access to \
                 deployments"
            }
            Error::NotFound { call, .. } if call.path == "/v2/deployments" => {
                "check that --host-url or AGENT_HOST_URL is the address of the deployment service itself, and not of a page"
            }
            Error::NoDeployment { .. } => "run `agentcli deploy list` to see all deployments",
            Error::NotFound { call, .. } if call.path.starts_with("/v2/deployments") => {
                "run `agentcli deploy list` to see all deployments"
            }
            Error::Conflict { .. } => {
                "`agentcli deploy get` shows what there is now; do the same again where it is still wanted, or choose \
                 another name"
            }
            Error::Host { .. } => {
                "give --host-url, or AGENT_HOST_URL, an address such as https://host.example"
            }
            Error::Unreachable { .. } => {
                "check the address (--host-url or AGENT_HOST_URL) and the network; `agentcli host serve` starts a \
                 service on this machine"
            }
            Error::Redirected { call, .. } if call.method == "PUT" => {
                "a signed address is for one place only; tell whoever runs the service"
            }
            Error::Redirected { .. } => {
                "the key goes to the given address only; if the service has moved, give its new address with --host-url"
            }
            Error::Malformed { .. } => {
                "check that --host-url or AGENT_HOST_URL names the deployment service, and not a proxy or a web page"
            }
            Error::TryAgainLater { status: 401 | 403, .. } => {
                "the service gives a new address each time: deploy again"
            }
            Error::Deadline { .. } | Error::Lost { .. } | Error::TryAgainLater { .. } => {
                "try again later; what the service has taken in is not lost or done twice"
            }
            Error::Tls { .. } => {
                "check the address, and that this machine trusts the service's certificate: that of an authority of your \
                 own is trusted where SSL_CERT_FILE names its file"
            }
            Error::Archive(_) | Error::Invalid { .. } | Error::NotFound { .. } | Error::Rejected { .. } => {
                return None;
            }
        };
        Some(hint.to_owned())
    }
}
