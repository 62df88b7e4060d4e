//! Connections: limits, timeouts and injected faults.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Shared;
use super::faults::Fault;

/// Timeout for pending responses when the service stops.
const GRACE: Duration = Duration::from_secs(3);

/// Pause after a connection could not be accepted, usually for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until `end`, and completes pending responses.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    shared: Arc<Shared>,
    end: impl Future<Output = ()>,
) {
    let permits = Arc::new(Semaphore::new(shared.options.limits.connections));
    let graceful = GracefulShutdown::new();
    let mut tasks = JoinSet::new();
    tokio::pin!(end);
    loop {
        let next = async {
            let permit = permits.clone().acquire_owned().await;
            (listener.accept().await, permit)
        };
        tokio::select! {
            (accepted, permit) = next => match accepted {
                Ok((stream, _)) => {
                    let connection = graceful.watch(connection(stream, &router, &shared));
                    tasks.spawn(async move {
                        // The client may close the connection at any time.
                        connection.await.ok();
                        drop(permit);
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = tasks.join_next() => {}
            () = &mut end => break,
        }
    }
    drop(listener);
    // The remaining connections are closed with their tasks.
    tokio::time::timeout(GRACE, graceful.shutdown()).await.ok();
}

/// The reason to close a connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("dropped on purpose")]
struct Dropped;

fn connection(
    stream: TcpStream,
    router: &Router,
    shared: &Arc<Shared>,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + use<> {
    stream.set_nodelay(true).ok();
    let reset = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(Wire { stream, reset: reset.clone() });
    let (router, shared) = (router.clone(), shared.clone());
    let timeout = shared.options.limits.header;
    let service = service_fn(move |request| {
        let fault = shared.options.faults.for_request(request.method(), request.uri().path());
        answer(router.clone(), request, fault, reset.clone())
    });
    http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(timeout).serve_connection(io, service)
}

/// Answers `request`, with the `fault` if there is one.
async fn answer(
    router: Router,
    request: hyper::Request<Incoming>,
    fault: Option<Fault>,
    reset: Arc<AtomicBool>,
) -> Result<Response, Dropped> {
    match fault {
        None => Ok(route(router, request).await),
        Some(Fault::Delay(pause)) => {
            tokio::time::sleep(pause).await;
            Ok(route(router, request).await)
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Reset) => {
            reset.store(true, Ordering::Relaxed);
            Err(Dropped)
        }
        Some(Fault::Lost) => {
            route(router, request).await;
            Err(Dropped)
        }
        Some(Fault::Truncate) => halved(route(router, request).await).await,
        Some(Fault::Answer(answer)) => Ok(*answer.response()),
    }
}

async fn route(router: Router, request: hyper::Request<Incoming>) -> Response {
    match TowerToHyperService::new(router).call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The response with its header and half of its body.
async fn halved(response: Response) -> Result<Response, Dropped> {
    let (mut parts, body) = response.into_parts();
    let whole = axum::body::to_bytes(body, usize::MAX).await.map_err(|_| Dropped)?;
    parts.headers.insert(hyper::header::CONTENT_LENGTH, whole.len().into());
    let half = whole.slice(..whole.len() / 2);
    let pieces = futures_util::stream::iter([Ok(half), Err(Dropped)]);
    Ok(Response::from_parts(parts, Body::from_stream(pieces)))
}

/// A connection that can be reset.
struct Wire {
    stream: TcpStream,
    reset: Arc<AtomicBool>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Relaxed) {
            self.stream.set_zero_linger().ok();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
