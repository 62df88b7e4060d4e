//! Connections to the API: their limits and timeouts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use super::accept::{Accepted, Acceptor, finish};
use super::counts::{Counted, Counts};
use super::limits::Limits;
use super::tls::Tls;
use crate::lock::lock;

/// Timeout for pending responses when the service stops.
const GRACE: Duration = Duration::from_secs(3);

/// Maximum size of the header of a request, and of what is read ahead, in bytes.
const BUFFER: usize = 64 << 10;

/// The tenant that a connection counts for: that of the last key on it. It lasts as long as the connection, since a client
/// that does not read its responses keeps them.
#[derive(Clone, Default)]
pub(crate) struct Seat(Arc<Mutex<Option<Counted<String>>>>);

impl Seat {
    /// Counts the connection for `tenant`; returns whether that has fewer than `most` others.
    pub(crate) fn take(&self, tenants: &Counts<String>, tenant: &str, most: usize) -> bool {
        let mut seat = lock(&self.0);
        if seat.as_ref().is_none_or(|counted| counted.key() != tenant) {
            *seat = tenants.enter(tenant.to_owned(), most);
        }
        seat.is_some()
    }
}

/// The router for the requests of one connection.
struct Seated {
    router: TowerToHyperService<Router>,
    seat: Seat,
}

impl Service<Request<Incoming>> for Seated {
    type Response = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.seat.clone());
        self.router.call(request)
    }
}

/// Serves `router` until `end`, and completes pending responses.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    limits: Limits,
    end: impl Future<Output = ()>,
) {
    let Limits { connections, per_address, header, write, .. } = limits;
    let acceptor =
        Acceptor { listener, tls, connections, per_address, handshake: header, write, grace: GRACE };
    let connection = move |accepted| connection(accepted, router.clone(), header);
    acceptor.run(end, connection).await;
}

async fn connection(accepted: Accepted, router: Router, timeout: Duration) {
    let Accepted { stream, permit, stop, .. } = accepted;
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(timeout).max_buf_size(BUFFER);
    let service = Seated { router: TowerToHyperService::new(router), seat: Seat::default() };
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    finish(connection, |connection| connection.graceful_shutdown(), stop).await;
    drop(permit);
}
