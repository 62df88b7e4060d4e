//! The body of a response, and what it holds until it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::backend::Open;
use super::usage::Visit;
use crate::net::accept;

/// The body of a response to a client: from a backend, or of the proxy itself.
pub(super) type ResponseBody = Either<Counted, Full<Bytes>>;

/// One of the connections that the options allow.
pub(super) type Permit = Arc<accept::Permit>;

/// Counts a request as open: at its backend, at its route, and among the connections of clients.
pub(super) struct Guard {
    pub(super) open: Open,
    _visit: Visit,
    _permit: Permit,
}

impl Guard {
    pub(super) fn new(open: Open, visit: Visit, permit: Permit) -> Self {
        Self { open, _visit: visit, _permit: permit }
    }
}

/// The body of a response, whose request is open until it ends.
pub(super) struct Counted {
    body: Incoming,
    _guard: Guard,
}

impl Counted {
    pub(super) fn new(body: Incoming, guard: Guard) -> Self {
        Self { body, _guard: guard }
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
