//! A backend: its connections and its open requests.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::lock::lock;
use crate::net::accept::prepare;

/// The body of a request to a backend.
pub(super) type RequestBody = Either<Incoming, Empty<Bytes>>;

/// Idle time after which a connection is not used again. uvicorn and Node.js close theirs after 5 s.
pub(super) const MAX_IDLE: Duration = Duration::from_secs(4);

/// The most idle connections to a backend.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// Time for which a backend that did not accept a connection is chosen last.
const AVOIDED: Duration = Duration::from_secs(1);

/// One replica of a revision.
pub(super) struct Backend {
    address: SocketAddr,
    /// Number of open requests, streams and upgraded connections.
    open: watch::Sender<usize>,
    /// A change closes all connections.
    cut: watch::Sender<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Idle connections, the last used last.
    idle: Vec<(Instant, SendRequest<RequestBody>)>,
    avoided_until: Option<Instant>,
}

/// A connection to a backend that is ready for a request.
pub(super) struct Connection {
    pub(super) sender: SendRequest<RequestBody>,
    /// Whether it has served a request, so that the backend may be closing it.
    pub(super) is_reused: bool,
}

impl Backend {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, open: watch::Sender::new(0), cut: watch::Sender::new(()), state: Mutex::default() }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counts a request until the guard is dropped.
    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.open.send_modify(|open| *open += 1);
        Open(self.clone())
    }

    /// Number of open requests.
    pub(super) fn count(&self) -> usize {
        *self.open.borrow()
    }

    /// The order of preference: reachable backends first, then by open requests.
    pub(super) fn load(&self) -> (bool, usize) {
        let is_avoided = self.state().avoided_until.is_some_and(|until| Instant::now() < until);
        (is_avoided, self.count())
    }

    /// Waits until no request is open. Those that are open at the deadline are cut off; returns their number.
    pub(super) async fn drain(&self, deadline: Instant) -> usize {
        let mut open = self.open.subscribe();
        if timeout_at(deadline, open.wait_for(|open| *open == 0)).await.is_ok() {
            return 0;
        }
        let left = self.count();
        self.cut.send_replace(());
        left
    }

    /// Resolves when the requests are cut off.
    pub(super) fn cut(&self) -> impl Future<Output = ()> + use<> {
        let mut cut = self.cut.subscribe();
        async move {
            // A backend without requests and routes is dropped, and its connections with it.
            cut.changed().await.ok();
        }
    }

    /// Returns a connection that was idle for at most `max_idle`, or a new one.
    pub(super) async fn connect(&self, max_idle: Duration, limit: Duration) -> io::Result<Connection> {
        if let Some(sender) = self.take(max_idle) {
            return Ok(Connection { sender, is_reused: true });
        }
        let connected = timeout(limit, TcpStream::connect(self.address)).await.map_err(io::Error::from);
        let stream = connected.flatten().inspect_err(|_| {
            self.state().avoided_until = Some(Instant::now() + AVOIDED);
        })?;
        self.state().avoided_until = None;
        prepare(&stream);
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let cut = self.cut();
        tokio::spawn(async move {
            tokio::select! {
                // The request that it breaks for reports the error.
                _ = connection.with_upgrades() => {}
                () = cut => {}
            }
        });
        Ok(Connection { sender, is_reused: false })
    }

    fn take(&self, max_idle: Duration) -> Option<SendRequest<RequestBody>> {
        let idle = &mut self.state().idle;
        idle.retain(|(since, sender)| !sender.is_closed() && since.elapsed() < MAX_IDLE);
        idle.pop_if(|(since, _)| since.elapsed() < max_idle).map(|(_, sender)| sender)
    }

    /// Keeps a connection for another request once the response is complete.
    pub(super) fn keep(self: &Arc<Self>, mut sender: SendRequest<RequestBody>) {
        let backend = self.clone();
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                let idle = &mut backend.state().idle;
                if idle.len() < MAX_IDLE_CONNECTIONS {
                    idle.push((Instant::now(), sender));
                }
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// An open request of a backend.
pub(super) struct Open(Arc<Backend>);

impl Open {
    pub(super) fn backend(&self) -> &Arc<Backend> {
        &self.0
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}
