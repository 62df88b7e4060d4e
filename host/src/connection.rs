//! Connections to the API: their limits and timeouts.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use super::Limits;
use super::accept::{Accepted, Acceptor, finish};
use super::tls::Tls;

/// Timeout for pending responses when the service stops.
const GRACE: Duration = Duration::from_secs(3);

/// Serves `router` until `end`, and completes pending responses.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    limits: Limits,
    end: impl Future<Output = ()>,
) {
    let Limits { connections, header, .. } = limits;
    let acceptor = Acceptor { listener, tls, connections, handshake: header, grace: GRACE };
    let connection = move |accepted| connection(accepted, router.clone(), header);
    acceptor.run(end, connection).await;
}

async fn connection(accepted: Accepted, router: Router, timeout: Duration) {
    let Accepted { stream, permit, stop, .. } = accepted;
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(timeout);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    finish(connection, |connection| connection.graceful_shutdown(), stop).await;
    drop(permit);
}
