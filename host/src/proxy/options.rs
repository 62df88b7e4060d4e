//! Limits of the proxy.

use std::time::Duration;

use crate::net::tls::Tls;

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
