//! Connections of clients: accepted up to a limit, with TLS if there is a certificate, and closed when the service stops.

use std::net::SocketAddr;
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

use super::tls::Tls;

/// Pause after a connection could not be accepted, usually for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Silence after which the system probes whether the peer still exists.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Accepts connections.
pub(crate) struct Acceptor {
    pub(crate) listener: TcpListener,
    /// With a certificate, connections without TLS are closed.
    pub(crate) tls: Option<Tls>,
    /// Maximum number of connections; more wait to be accepted.
    pub(crate) connections: usize,
    /// Timeout for a handshake.
    pub(crate) handshake: Duration,
    /// Timeout for open requests when the service stops.
    pub(crate) grace: Duration,
}

/// A connection.
pub(crate) struct Accepted {
    pub(crate) stream: Either<TcpStream, TlsStream<TcpStream>>,
    /// Address of the client.
    pub(crate) peer: SocketAddr,
    /// Counts the connection until it is dropped.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
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
                        prepare(&stream);
                        let (tls, limit, serve) = (self.tls.clone(), self.handshake, serve.clone());
                        let mut stop = stop.subscribe();
                        tasks.spawn(async move {
                            let stream = tokio::select! {
                                stream = secured(tls, stream, limit) => stream,
                                _ = stop.changed() => None,
                            };
                            if let Some(stream) = stream {
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
