//! The addresses of a server.

use std::net::TcpListener;
use std::sync::Arc;

/// The addresses of a server.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) port: u16,
    /// The sockets that the server accepts connections from.
    pub(super) sockets: Vec<Arc<TcpListener>>,
    /// The URL of the tunnel, if there is one.
    pub(super) public: Option<String>,
}
