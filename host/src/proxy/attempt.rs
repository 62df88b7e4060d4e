//! Attempts to send a request: which failures another attempt may follow.
//!
//! A request is sent again if no backend got it, or if it is idempotent and has no body. Others may have been processed,
//! and bodies are streamed, not stored.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{Either, Empty};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Uri, Version};

use super::backend::{Backend, Connection, MAX_IDLE, RequestBody};
use super::headers::{self, Client};
use super::refusal::Refusal;

/// Idle time up to which a connection carries a request that cannot be repeated: a server hardly closes it that early.
const MAX_IDLE_ONCE: Duration = Duration::from_secs(1);

/// A request to a backend that may be sent more than once.
pub(super) struct Outgoing {
    head: Request<()>,
    /// Until it is sent; `None` for an empty one.
    body: Option<Incoming>,
    is_repeatable: bool,
    /// Whether an idle connection turned out to be closed, so that only a new one is tried.
    needs_new_connection: bool,
}

/// The reason that an attempt got no response.
pub(super) enum Failure {
    /// Another attempt cannot succeed or is not safe.
    Refused(Refusal),
    /// The idle connection was closed by the backend; a new one may work.
    Stale,
    /// The backend accepts no connections.
    Unreachable,
    /// The backend got the request, and the connection was closed; it can be repeated.
    Lost,
}

impl Outgoing {
    pub(super) fn new(parts: Parts, body: Incoming, client: &Client) -> Self {
        let mut head = Request::new(());
        *head.method_mut() = parts.method;
        *head.uri_mut() = parts.uri.into_parts().path_and_query.map(Uri::from).unwrap_or_default();
        *head.version_mut() = Version::HTTP_11;
        *head.headers_mut() = parts.headers;
        headers::to_backend(head.headers_mut(), client);
        let body = Some(body).filter(|body| !body.is_end_stream());
        if body.is_some() && !head.headers().contains_key(CONTENT_LENGTH) {
            // hyper would leave out the body of a GET request.
            head.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let is_repeatable = body.is_none() && head.method().is_idempotent();
        Self { head, body, is_repeatable, needs_new_connection: false }
    }

    /// Sends the request to `backend`, and returns the response without waiting for its body.
    pub(super) async fn send(
        &mut self,
        backend: &Arc<Backend>,
        connect: Duration,
    ) -> Result<Response<Incoming>, Failure> {
        let max_idle = match self {
            Self { needs_new_connection: true, .. } => Duration::ZERO,
            Self { is_repeatable: true, .. } => MAX_IDLE,
            _ => MAX_IDLE_ONCE,
        };
        let connection = backend.connect(max_idle, connect).await;
        let Connection { mut sender, is_reused } = connection.map_err(|_| Failure::Unreachable)?;
        let mut error = match sender.try_send_request(self.take()).await {
            Ok(response) => {
                if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    backend.keep(sender);
                }
                return Ok(response);
            }
            Err(error) => error,
        };
        self.needs_new_connection |= is_reused;
        if let Some(unsent) = error.take_message() {
            if let Either::Left(body) = unsent.into_body() {
                self.body = Some(body);
            }
            return Err(if is_reused { Failure::Stale } else { Failure::Unreachable });
        }
        Err(self.failure(error.error(), is_reused))
    }

    fn take(&mut self) -> Request<RequestBody> {
        let body = self.body.take().map_or_else(|| Either::Right(Empty::new()), Either::Left);
        self.head.clone().map(|()| body)
    }

    /// The failure of a request that was sent at least in part.
    fn failure(&self, error: &hyper::Error, is_reused: bool) -> Failure {
        // The body comes from the connection of the client; no other error of a connection has such a source.
        let is_of_client =
            error.is_user() && error.source().is_some_and(|source| source.is::<hyper::Error>());
        match (is_of_client, error.is_parse(), self.is_repeatable) {
            (true, ..) => Failure::Refused(Refusal::IncompleteRequest),
            (_, true, _) => Failure::Refused(Refusal::InvalidResponse),
            (.., false) => Failure::Refused(Refusal::NoResponse),
            (.., true) if is_reused => Failure::Stale,
            (.., true) => Failure::Lost,
        }
    }
}
