//! Clients: requests through hyper, and raw bytes.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::soon;

/// A connection that is kept alive.
pub(crate) struct Client(SendRequest<Full<Bytes>>);

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) trailers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// The `detail` of an answer of the proxy itself.
    pub(crate) fn detail(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/json");
        let json: serde_json::Value = serde_json::from_str(&self.text).unwrap();
        json["detail"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub(crate) async fn connect(proxy: SocketAddr) -> Self {
        let stream = TcpStream::connect(proxy).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::over(stream).await
    }

    pub(crate) async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn stream(
        &mut self,
        method: Method,
        host: &str,
        path: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header("host", host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.0.ready().await?;
        self.0.send_request(request.body(Full::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        host: &str,
        path: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> hyper::Result<Answer> {
        let response = soon(self.stream(method, host, path, headers, body)).await?;
        let (parts, body) = response.into_parts();
        let body = soon(body.collect()).await?;
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            trailers: body.trailers().cloned().unwrap_or_default(),
            text: String::from_utf8(body.to_bytes().to_vec()).unwrap(),
        })
    }
}

/// Sends a GET request on a connection of its own.
pub(crate) async fn get(proxy: SocketAddr, host: &str, path: &str) -> Answer {
    Client::connect(proxy).await.send(Method::GET, host, path, &[], "").await.unwrap()
}

/// Sends a POST request on a connection of its own.
pub(crate) async fn post(proxy: SocketAddr, host: &str, path: &str, body: &str) -> Answer {
    Client::connect(proxy).await.send(Method::POST, host, path, &[], body).await.unwrap()
}

/// A connection for raw bytes.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) async fn connect(proxy: SocketAddr) -> Self {
        Self(TcpStream::connect(proxy).await.unwrap())
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the text ends with `end`.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let byte = soon(self.0.read_u8()).await;
            text.push(
                byte.unwrap_or_else(|error| panic!("{error} after {:?}", String::from_utf8_lossy(&text))),
            );
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads until the proxy closes the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut text = Vec::new();
        // A reset ends it, too.
        soon(self.0.read_to_end(&mut text)).await.ok();
        String::from_utf8(text).unwrap()
    }
}

/// Sends raw bytes, and returns everything until the proxy closes the connection.
pub(crate) async fn raw(proxy: SocketAddr, text: &str) -> String {
    let mut raw = Raw::connect(proxy).await;
    raw.write(text).await;
    raw.rest().await
}
