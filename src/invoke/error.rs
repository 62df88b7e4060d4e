//! Errors of calls to an agent server.

/// A call or a run that failed. It contains no header of the request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL cannot be used.
    #[error("cannot use `{url}` as the URL of a server: {reason}")]
    Address {
        /// Without user, password and query.
        url: String,
        /// Why.
        reason: String,
    },
    /// The connection broke, or the response is invalid.
    #[error("cannot read the response of {url} to `{call}`: {reason}")]
    Broken {
        /// The server.
        url: String,
        /// Method and path.
        call: String,
        /// Why.
        reason: String,
    },
    /// The graph raised an error.
    #[error("the graph failed: {}{kind}: {message}{}", before(node), after(place))]
    Graph {
        /// The node, if the server says it, as that of `dev` does.
        node: Option<String>,
        /// Class of the error.
        kind: String,
        /// Its message.
        message: String,
        /// The place in the project's source, as `file:line`, if the server says it.
        place: Option<String>,
    },
    /// The server rejected the request.
    #[error("{url} rejected `{call}` with status {status}: {detail}")]
    Rejected {
        /// The server.
        url: String,
        /// Method and path.
        call: String,
        /// The status, not from 200 to 299.
        status: u16,
        /// The detail of the response.
        detail: String,
    },
    /// The server redirects to another address.
    #[error("{url} redirects `{call}` to `{target}`; redirects are not followed")]
    Redirected {
        /// The server.
        url: String,
        /// Method and path.
        call: String,
        /// Scheme, host and port, where they can be read.
        target: String,
    },
    /// The HTTP client cannot be set up.
    #[error("cannot set up the HTTP client: {reason}")]
    Setup {
        /// Why.
        reason: String,
    },
    /// No connection could be made.
    #[error("cannot connect to the server at {url}: {reason}")]
    Unreachable {
        /// The server.
        url: String,
        /// Why.
        reason: String,
    },
}

fn before(node: &Option<String>) -> String {
    node.as_ref().map_or_else(String::new, |node| format!("{node}: "))
}

fn after(place: &Option<String>) -> String {
    place.as_ref().map_or_else(String::new, |place| format!(" ({place})"))
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Address { .. } => "pass a URL such as http://127.0.0.1:2024",
            Self::Rejected { status: 401 | 403, .. } => {
                "pass the credentials that the server expects with --header-env 'NAME: VARIABLE'"
            }
            Self::Rejected { status: 404, .. } => {
                "check the URL, the name of the graph and the ID of the thread"
            }
            Self::Rejected { status: 408 | 429 | 500.., .. } => "see the server's log, or try again later",
            Self::Redirected { .. } => "pass the URL that the server redirects to, if you trust it",
            Self::Unreachable { .. } => {
                "check the URL; `agentcli dev` and `agentcli up` start a server on this machine"
            }
            Self::Broken { .. } => "see the server's log; the run may have ended without an answer",
            Self::Graph { place: Some(_), .. } => "`agentcli dev -v` logs the traceback",
            Self::Graph { .. } => "the server's log has the traceback",
            Self::Rejected { .. } | Self::Setup { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
