//! Requests to the engine, each over a connection of its own whose answer has a size limit: an engine may answer without
//! end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bollard::errors::Error as Bollard;
use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use futures_util::{Stream, StreamExt as _};
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connect::Engine;
use super::endpoint::Endpoint;

/// Timeout of bollard for a response to start, in seconds: without BuildKit, a build responds only after it has received
/// the whole context. Shorter deadlines are set where calls are made.
const TIMEOUT: u64 = 24 * 60 * 60;

/// Maximum length of an answer that is read as a whole, in bytes.
const MAX_ANSWER: u64 = 32 << 20;

/// Maximum length of a message of a stream, in bytes.
const MAX_MESSAGE: u64 = 8 << 20;

/// Number of bytes that an answer may still have.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    max: u64,
    left: Arc<AtomicU64>,
}

impl Allowance {
    fn new(max: u64) -> Self {
        Self { max, left: Arc::new(AtomicU64::new(max)) }
    }

    /// Renews the allowance at each message. Bollard loses the reason of a broken connection, which is this one if the
    /// allowance is used up.
    pub(super) fn of_each<T, S: Stream<Item = Result<T, Bollard>>>(
        &self,
        messages: S,
    ) -> impl Stream<Item = S::Item> + use<T, S> {
        let own = self.clone();
        messages.map(move |message| {
            if message.is_err() && own.left.load(Ordering::Relaxed) == 0 {
                return Err(Bollard::IOError { err: own.exceeded() });
            }
            own.left.store(own.max, Ordering::Relaxed);
            message
        })
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed).checked_sub(bytes);
        self.left.store(left.unwrap_or_default(), Ordering::Relaxed);
        left.map(drop).ok_or_else(|| self.exceeded())
    }

    fn exceeded(&self) -> io::Error {
        io::Error::other(format!("its answer is longer than {} MiB", self.max >> 20))
    }
}

impl Engine {
    /// A client for one stream of messages, and the allowance that each of them renews.
    pub(super) fn streaming(&self) -> (Docker, Allowance) {
        let allowance = Allowance::new(MAX_MESSAGE);
        let shared = allowance.clone();
        let docker = self.endpoint.client_within(move || shared.clone());
        // A client was made before, and bollard does not connect here.
        (docker.unwrap_or_else(|_| self.docker.clone()), allowance)
    }
}

impl Endpoint {
    /// A client for calls that read their answers as a whole.
    pub(super) fn client(&self) -> Result<Docker, Bollard> {
        self.client_within(|| Allowance::new(MAX_ANSWER))
    }

    fn client_within(
        &self,
        allowance: impl Fn() -> Allowance + Send + Sync + 'static,
    ) -> Result<Docker, Bollard> {
        let endpoint = self.clone();
        let transport = move |request| {
            let (endpoint, allowance) = (endpoint.clone(), allowance());
            async move { endpoint.send(request, allowance).await }
        };
        Docker::connect_with_custom_transport(transport, Some("http://docker"), TIMEOUT, API_DEFAULT_VERSION)
    }

    /// Sends a request. Dropping the body of the response closes the connection.
    async fn send(
        &self,
        mut request: BollardRequest,
        allowance: Allowance,
    ) -> Result<Response<Incoming>, Bollard> {
        let stream = self.stream().await.map_err(|err| Bollard::IOError { err })?;
        let stream = TokioIo::new(Bounded { stream, allowance });
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        tokio::spawn(connection.with_upgrades());
        let path = request.uri().path_and_query().map_or("/", |it| it.as_str()).to_owned();
        if let Ok(path) = path.parse() {
            *request.uri_mut() = path;
        }
        request.headers_mut().insert(HOST, HeaderValue::from_static("docker"));
        Ok(sender.send_request(request).await?)
    }
}

/// A connection from which only as much is read as the allowance permits.
struct Bounded<T> {
    stream: T,
    allowance: Allowance,
}

impl<T: AsyncRead + Unpin> AsyncRead for Bounded<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.stream).poll_read(task, buffer))?;
        Poll::Ready(self.allowance.take((buffer.filled().len() - before) as u64))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Bounded<T> {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}
