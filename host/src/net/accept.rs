//! Connections of clients: accepted up to a limit, with TLS if there is a certificate, cut when the client does not read, and
//! closed when the service stops.

use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::counts::{Counted, Counts, client};
use super::progress::Progress;
use super::tls::Tls;

/// Pause after a connection could not be accepted, usually for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Silence after which the system probes whether the peer still exists.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// The answer to a connection beyond the limit of its address, before any request.
const REFUSED: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 57\r\n\
    Retry-After: 5\r\nConnection: close\r\n\r\n{\"detail\": \"There are too many connections from here.\"}\r\n";

/// Accepts connections.
pub(crate) struct Acceptor {
    pub(crate) listener: TcpListener,
    /// With a certificate, connections without TLS are closed.
    pub(crate) tls: Option<Tls>,
    /// Maximum number of connections; more wait to be accepted.
    pub(crate) connections: usize,
    /// Maximum number of connections of one client address; more are refused.
    pub(crate) per_address: usize,
    /// Timeout for a handshake.
    pub(crate) handshake: Duration,
    /// Time in which a client must read a part of what is sent.
    pub(crate) write: Duration,
    /// Timeout for open requests when the service stops.
    pub(crate) grace: Duration,
}

/// A connection of a client, with TLS or without.
pub(crate) type Stream = Progress<Either<TcpStream, TlsStream<TcpStream>>>;

/// Counts a connection until it is dropped.
pub(crate) struct Permit {
    _all: Option<OwnedSemaphorePermit>,
    _address: Counted<IpAddr>,
}

/// A connection.
pub(crate) struct Accepted {
    pub(crate) stream: Stream,
    /// Address of the client.
    pub(crate) peer: SocketAddr,
    /// Counts the connection until it is dropped.
    pub(crate) permit: Permit,
    /// Changes when the service stops.
    pub(crate) stop: watch::Receiver<()>,
}

impl Acceptor {
    /// Serves connections until `end`, and waits until they are closed, at most until the time that it returns.
    pub(crate) async fn run<F: Future<Output = ()> + Send + 'static>(
        self,
        end: impl Future<Output = ()>,
        serve: impl Fn(Accepted) -> F + Clone + Send + 'static,
    ) -> Instant {
        let permits = Arc::new(Semaphore::new(self.connections));
        let addresses = Counts::default();
        let stop = watch::Sender::new(());
        let mut tasks = JoinSet::new();
        tokio::pin!(end);
        loop {
            let next = async {
                let permit = permits.clone().acquire_owned().await.ok();
                (self.listener.accept().await, permit)
            };
            tokio::select! {
                (accepted, permit) = next => match accepted {
                    Ok((stream, peer)) => {
                        let Some(counted) = addresses.enter(client(peer.ip()), self.per_address) else {
                            self.refuse(&stream);
                            continue;
                        };
                        prepare(&stream);
                        let permit = Permit { _all: permit, _address: counted };
                        let tls = self.tls.clone();
                        let limit = self.handshake;
                        let serve = serve.clone();
                        let write = self.write;
                        let mut stop = stop.subscribe();
                        tasks.spawn(async move {
                            let stream = tokio::select! {
                                stream = secured(tls, stream, limit) => stream,
                                _ = stop.changed() => None,
                            };
                            if let Some(stream) = stream {
                                let stream = Progress::new(stream, write);
                                serve(Accepted { stream, peer, permit, stop }).await;
                            }
                        });
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Some(_) = tasks.join_next() => {}
                () = &mut end => break,
            }
        }
        drop(self.listener);
        stop.send_replace(());
        let deadline = Instant::now() + self.grace;
        let finished = async { while tasks.join_next().await.is_some() {} };
        // The remaining connections are closed with their tasks.
        timeout_at(deadline, finished).await.ok();
        deadline
    }

    /// Tells a client without TLS why its connection is closed.
    fn refuse(&self, stream: &TcpStream) {
        if self.tls.is_none() {
            // The client may be gone.
            stream.try_write(REFUSED).ok();
        }
    }
}

/// The connection after its handshake, which a client may break off at any time.
async fn secured(
    tls: Option<Tls>,
    stream: TcpStream,
    limit: Duration,
) -> Option<Either<TcpStream, TlsStream<TcpStream>>> {
    match tls {
        None => Some(Either::Left(stream)),
        Some(tls) => timeout(limit, tls.accept(stream)).await.ok()?.ok().map(Either::Right),
    }
}

/// Serves a connection to its end; after `stop`, `shut_down` lets it complete the open request only.
pub(crate) async fn finish<C: Future>(
    connection: C,
    shut_down: impl FnOnce(Pin<&mut C>),
    mut stop: watch::Receiver<()>,
) {
    let mut connection = pin!(connection);
    tokio::select! {
        // The client may close the connection at any time.
        _ = connection.as_mut() => return,
        _ = stop.changed() => {}
    }
    shut_down(connection.as_mut());
    connection.await;
}

/// Sends small pieces of a stream at once, and notices when the peer is gone. A failure costs no more than that.
pub(crate) fn prepare(stream: &TcpStream) {
    stream.set_nodelay(true).ok();
    SockRef::from(stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE)).ok();
}
