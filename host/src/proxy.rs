//! The reverse proxy: takes requests to the replicas of deployments by their Host header.
//!
//! It knows neither the database nor the container engine: the reconciler writes the [`Routes`], and learns from them which
//! deployments are used ([`Routes::activity`]), which are to be started ([`Routes::wanted`]), and when a backend can be
//! stopped ([`Routes::open`], [`Routes::drain`]).
//!
//! - A change of a route affects later requests only: those that are open, streams and upgraded connections included, stay
//!   with their backend. Connections of clients outlive it.
//! - Bodies are streamed both ways with backpressure, and never stored. There is no timeout on responses and streams, except
//!   for a client that does not read: its connection is cut, and with it that to the backend.
//! - While no backend accepts a request, it is held, at most for [`Options::hold`], and then answered 503 with the reason and
//!   Retry-After. A request that is answered 503 can be repeated: no backend got it, or it is idempotent.
//! - When a backend closes the connection before it responds, an idempotent request without a body is sent to another one;
//!   every other is answered 502 with the reason: it may have been processed. After the first byte of the response, the
//!   client sees the response break off.
//! - Requests go to the replica with the fewest open ones. One that does not accept connections is avoided for a second.
//!   HTTP/1.1 is spoken on both sides.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::net::accept::{Accepted, Acceptor, finish};
use crate::net::tls::scheme;

mod attempt;
mod backend;
mod body;
mod exchange;
mod headers;
mod options;
mod refusal;
mod routes;
mod usage;

pub use crate::net::host_name::{HostName, InvalidHost};
pub use options::Options;
pub use routes::{HostTaken, Route, Routes};
pub use usage::Activity;

/// A proxy that listens.
pub struct Proxy {
    listener: TcpListener,
    routes: Arc<Routes>,
    options: Arc<Options>,
}

impl Proxy {
    /// Listens on `address`.
    pub async fn bind(address: SocketAddr, routes: Arc<Routes>, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self { listener, routes, options: Arc::new(options) })
    }

    /// The address that it listens on.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `end`, and then completes the open requests within [`Options::grace`].
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let Self { listener, routes, options } = self;
        let acceptor = Acceptor {
            listener,
            tls: options.tls.clone(),
            connections: options.connections,
            per_address: options.per_address,
            handshake: options.header,
            write: options.write,
            grace: options.grace,
        };
        let scheme = scheme(options.tls.as_ref());
        let of_connections = routes.clone();
        let connection = move |accepted: Accepted| {
            let Accepted { stream, peer, permit, stop } = accepted;
            let (routes, options) = (of_connections.clone(), options.clone());
            let service = exchange::Service { routes, options, peer, scheme, permit: Arc::new(permit) };
            connection(TokioIo::new(stream), service, stop)
        };
        let deadline = acceptor.run(end, connection).await;
        // Upgraded connections have left their tasks.
        routes.drain_all(deadline).await;
    }
}

/// Serves the requests of one connection; after `stop`, only the open one.
async fn connection(
    io: impl Read + Write + Unpin + Send + 'static,
    service: exchange::Service,
    stop: watch::Receiver<()>,
) {
    let mut builder = http1::Builder::new();
    let options = &service.options;
    builder.timer(TokioTimer::new()).header_read_timeout(options.header).max_header_size(options.header_size);
    let connection = builder.serve_connection(io, service).with_upgrades();
    finish(connection, |connection| connection.graceful_shutdown(), stop).await;
}
