//! Backends: a server that behaves as the path says, and one that answers raw bytes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// The reason of a backend to close the connection.
#[derive(Debug, thiserror::Error)]
#[error("closed on purpose")]
struct Closed;

type Body = UnsyncBoxBody<Bytes, Closed>;

/// Number of events of `/sse`, and the pause before each.
pub(crate) const EVENTS: usize = 40;
const PAUSE: Duration = Duration::from_millis(10);

/// The size of a piece of `/endless`.
pub(crate) const PIECE: usize = 64 * 1024;

pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    accepting: AbortHandle,
}

/// Counters, and the gate of `/gate`.
pub(crate) struct Seen {
    name: &'static str,
    pub(crate) connections: AtomicUsize,
    pub(crate) requests: AtomicUsize,
    pub(crate) pieces: AtomicUsize,
    pub(crate) gate: watch::Sender<bool>,
}

impl Backend {
    pub(crate) async fn start(name: &'static str) -> Self {
        Self::start_at(name, "127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn start_at(name: &'static str, address: SocketAddr) -> Self {
        Self::serve(name, TcpListener::bind(address).await.unwrap(), |stream, seen| async move {
            let service = service_fn(move |request| respond(request, seen.clone()));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            connection.with_upgrades().await.ok();
        })
    }

    /// Answers each request on a connection of its own with `bytes`, and closes it without notice.
    pub(crate) async fn raw(bytes: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve("raw", listener, move |mut stream, seen| async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            seen.requests.fetch_add(1, Ordering::SeqCst);
            stream.write_all(bytes).await.ok();
        })
    }

    fn serve<F>(
        name: &'static str,
        listener: TcpListener,
        connection: impl Fn(TcpStream, Arc<Seen>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen {
            name,
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            pieces: AtomicUsize::new(0),
            gate: watch::Sender::new(false),
        });
        let shared = seen.clone();
        let accept = async move {
            let mut tasks = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tasks.spawn(connection(stream, shared.clone()));
            }
        };
        Self { address, seen, accepting: tokio::spawn(accept).abort_handle() }
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::SeqCst)
    }

    /// Closes the socket and all connections.
    pub(crate) fn kill(&self) {
        self.accepting.abort();
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.kill();
    }
}

fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn frames(frames: impl stream::Stream<Item = Result<Frame<Bytes>, Closed>> + Send + 'static) -> Body {
    StreamBody::new(frames).boxed_unsync()
}

async fn respond(request: Request<Incoming>, seen: Arc<Seen>) -> Result<Response<Body>, Closed> {
    seen.requests.fetch_add(1, Ordering::SeqCst);
    let path = request.uri().path().to_owned();
    let body = match path.as_str() {
        "/echo" => full(echo(request).await),
        "/sse" => events(seen.name),
        "/gate" => {
            seen.gate.subscribe().wait_for(|is_open| *is_open).await.map_err(|_| Closed)?;
            full(seen.name)
        }
        "/upload" => request.into_body().map_err(|_| Closed).boxed_unsync(),
        "/ws" => return Ok(upgrade(request, seen.name)),
        "/unasked-upgrade" => {
            let mut response = Response::new(full(""));
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
            response.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
            return Ok(response);
        }
        "/die" => return Err(Closed),
        "/trailers" => {
            let mut trailers = HeaderMap::new();
            trailers.insert("checksum", HeaderValue::from_static("42"));
            let pieces = [Ok(Frame::data(Bytes::from_static(b"data"))), Ok(Frame::trailers(trailers))];
            let mut response = Response::new(frames(stream::iter(pieces)));
            response.headers_mut().insert("trailer", HeaderValue::from_static("checksum"));
            return Ok(response);
        }
        "/endless" => frames(stream::unfold(seen, |seen| async {
            seen.pieces.fetch_add(1, Ordering::SeqCst);
            Some((Ok(Frame::data(Bytes::from(vec![0; PIECE]))), seen))
        })),
        "/private-header" => {
            let mut response = Response::new(full(""));
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close, x-private"));
            response.headers_mut().insert("x-private", HeaderValue::from_static("1"));
            return Ok(response);
        }
        _ => full(seen.name),
    };
    Ok(Response::new(body))
}

/// The request line, headers, body and trailers as the backend got them.
async fn echo(request: Request<Incoming>) -> String {
    let (parts, body) = request.into_parts();
    let mut lines = vec![format!("{} {}", parts.method, parts.uri)];
    let header = |(name, value): (&hyper::header::HeaderName, &HeaderValue)| {
        format!("{name}: {}", value.to_str().unwrap())
    };
    lines.extend(parts.headers.iter().map(header));
    let body = body.collect().await.unwrap();
    lines.extend(body.trailers().into_iter().flatten().map(header));
    lines.push(String::from_utf8(body.to_bytes().to_vec()).unwrap());
    lines.join("\n")
}

fn events(name: &'static str) -> Body {
    frames(stream::unfold(0, move |index| async move {
        if index == EVENTS {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
        Some((Ok(Frame::data(Bytes::from(format!("data: {name} {index}\n\n")))), index + 1))
    }))
}

/// Switches to a protocol that returns each byte after the name.
fn upgrade(mut request: Request<Incoming>, name: &'static str) -> Response<Body> {
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let mut stream = TokioIo::new(upgraded.await.unwrap());
        stream.write_all(name.as_bytes()).await.ok();
        while let Ok(byte) = stream.read_u8().await {
            stream.write_u8(byte).await.ok();
        }
    });
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
    response
}
