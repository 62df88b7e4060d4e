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
use std::time::Duration;

use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::net::accept::{Accepted, Acceptor, finish};
use crate::net::tls::{Tls, scheme};

mod attempt;
mod backend;
mod body;
mod exchange;
mod headers;
mod host_name;
mod refusal;
mod routes;
mod usage;

pub use host_name::{HostName, InvalidHost};
pub use routes::{HostTaken, Route, Routes};
pub use usage::Activity;

/// Limits of the proxy.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of connections of clients; further ones wait to be accepted. Each needs up to two file descriptors.
    pub connections: usize,
    /// Maximum number of connections of one client address, and of one /64 of IPv6; more are refused.
    pub per_address: usize,
    /// Maximum number of open and held requests of a deployment or a revision; further ones are answered 503.
    pub requests: usize,
    /// The certificate; without one, clients connect without TLS.
    pub tls: Option<Tls>,
    /// Timeout for the header of a request, and so for an idle connection of a client, and for a TLS handshake.
    pub header: Duration,
    /// Maximum size of the header of a request, in bytes.
    pub header_size: usize,
    /// Time in which a client must read a part of what is sent.
    pub write: Duration,
    /// Timeout for a backend to accept a connection.
    pub connect: Duration,
    /// Pause before another attempt when no replica accepts connections.
    pub reconnect: Duration,
    /// Maximum time for which a request is held.
    pub hold: Duration,
    /// Maximum number of held requests of a deployment; further ones are answered 503.
    pub held: usize,
    /// Timeout for open requests when the proxy stops.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 2048,
            per_address: 1024,
            requests: 1024,
            tls: None,
            header: Duration::from_secs(60),
            header_size: 64 * 1024,
            write: Duration::from_secs(30),
            connect: Duration::from_secs(5),
            reconnect: Duration::from_millis(100),
            hold: Duration::from_secs(30),
            held: 256,
            grace: Duration::from_secs(3),
        }
    }
}

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
