//! Errors of calls to the deployment service.

use std::fmt;
use std::time::Duration;

/// A call: its method, and its path without the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `GET` and the like.
    pub method: String,
    /// Such as `/v2/deployments`; the path of an upload is secret, and replaced.
    pub path: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{} {}`", self.method, self.path)
    }
}

/// A failed call. It contains no key, secret or query.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The archive cannot be read.
    #[error("cannot read the archive: {0}")]
    Archive(#[source] std::io::Error),
    /// The name is taken, or the record was changed: status 409.
    #[error("{call} conflicts with the current state: {detail}")]
    Conflict {
        /// The call.
        call: Call,
        /// The detail of the response.
        detail: String,
    },
    /// The call timed out.
    #[error("{call} timed out after {:.0} s", .after.as_secs_f64().max(1.0))]
    Deadline {
        /// The call.
        call: Call,
        /// The time of all attempts.
        after: Duration,
    },
    /// The address of the service cannot be used.
    #[error("cannot use `{host}` as the address of the deployment service: {reason}")]
    Host {
        /// The given address, without user and password.
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
    /// The connection broke in every attempt.
    #[error("{call} got no response from `{host}`: {reason}")]
    Lost {
        /// The call.
        call: Call,
        /// Scheme, host and port.
        host: String,
        /// The cause, as far as it is known.
        reason: String,
    },
    /// The response does not conform to the specification.
    #[error("{call} got an invalid response: {reason}")]
    Malformed {
        /// The call.
        call: Call,
        /// The violation.
        reason: String,
    },
    /// No deployment has this name.
    #[error("there is no deployment named `{name}`")]
    NoDeployment {
        /// The name.
        name: String,
    },
    /// The key is invalid or has no access: status 401 or 403.
    #[error("{call} was denied: {detail}")]
    NotAuthorised {
        /// The call.
        call: Call,
        /// The detail of the response.
        detail: String,
    },
    /// The resource does not exist: status 404.
    #[error("{call} failed: not found: {detail}")]
    NotFound {
        /// The call.
        call: Call,
        /// The detail of the response.
        detail: String,
    },
    /// The response is a redirect, which is not followed.
    #[error("{call} was redirected to `{target}`; redirects are not followed")]
    Redirected {
        /// The call.
        call: Call,
        /// Scheme, host and port, where they can be read.
        target: String,
    },
    /// The service rejected the request: another status from 400 to 499.
    #[error("{call} was rejected with status {status}: {detail}")]
    Rejected {
        /// The call.
        call: Call,
        /// The status.
        status: u16,
        /// The detail of the response.
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
    /// The service is overloaded or broken: status 429, or 500 and above; or an upload address has expired: status 401
    /// or 403.
    #[error("{call} failed with status {status}: {detail}")]
    TryAgainLater {
        /// The call.
        call: Call,
        /// The status.
        status: u16,
        /// The detail of the response.
        detail: String,
    },
    /// The service lists deployments of other agents.
    #[error("{call} does not filter by agent")]
    Unfiltered {
        /// The call.
        call: Call,
    },
    /// No connection could be made.
    #[error("cannot connect to the deployment service at `{host}`: {reason}")]
    Unreachable {
        /// Scheme, host and port.
        host: String,
        /// The cause, as far as it is known.
        reason: String,
    },
}

impl Error {
    /// Whether a later attempt may succeed.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Error::Deadline { .. }
                | Error::Lost { .. }
                | Error::TryAgainLater { .. }
                | Error::Unreachable { .. }
        )
    }

    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NotAuthorised { detail, .. } if detail.contains("workspace") => {
                "set PLATFORM_TENANT_ID to the ID of the workspace in the environment or in .env"
            }
            Error::NotAuthorised { .. } => {
                "check the key (--api-key or AGENT_HOST_API_KEY; -v prints which one was used) and its access to \
                 deployments"
            }
            Error::Rejected { detail, .. } if detail.contains("listener_id' is required") => {
                "this workspace deploys through a listener in its own cluster: pass --push-to or --image-uri for an image \
                 in your own registry, and --listener-id with --k8s-namespace (see `agentcli deploy listeners list`)"
            }
            Error::Rejected { detail, .. }
                if detail.starts_with("Scale to zero deployments are not supported") =>
            {
                "pass --deployment-type dev"
            }
            Error::NotFound { call, .. } if matches!(&*call.path, "/v2/deployments" | "/v2/listeners") => {
                "check that --host-url or AGENT_HOST_URL is the address of the deployment service, not of a web page"
            }
            Error::NoDeployment { .. } => "run `agentcli deploy list` to see all deployments",
            Error::NotFound { call, .. } if call.path.starts_with("/v2/deployments") => {
                "run `agentcli deploy list` to see all deployments"
            }
            Error::Unfiltered { .. } => {
                "the service does not deploy by agent; pass --name or --deployment-id"
            }
            Error::Conflict { .. } => {
                "see the current state with `agentcli deploy get`, then run the same command again or choose another \
                 name"
            }
            Error::Host { .. } => {
                "set --host-url or AGENT_HOST_URL to an address such as https://host.example"
            }
            Error::Unreachable { .. } => {
                "check the address (--host-url or AGENT_HOST_URL) and the network; `agentcli host serve` starts a \
                 service on this machine"
            }
            Error::Redirected { call, .. } if call.method == "PUT" => {
                "a signed address is valid for one location only; contact the operator of the service"
            }
            Error::Redirected { .. } => {
                "the key is sent to the given address only; if the service has moved, pass its new address with --host-url"
            }
            Error::Malformed { .. } => {
                "check that --host-url or AGENT_HOST_URL is the address of the deployment service, not of a proxy or a web page"
            }
            Error::TryAgainLater { status: 401 | 403, .. } => "deploy again to get a new upload address",
            Error::Deadline { .. } | Error::Lost { .. } | Error::TryAgainLater { .. } => {
                "run the same command again later; completed work is kept and not repeated"
            }
            Error::Tls { .. } => {
                "check the address and the certificate of the service; set SSL_CERT_FILE to trust the certificate of your \
                 own authority"
            }
            Error::Archive(_) | Error::Invalid { .. } | Error::NotFound { .. } | Error::Rejected { .. } => {
                return None;
            }
        };
        Some(hint.to_owned())
    }
}
