//! A page for a server, served on this machine: everything but the page is forwarded, with the headers of the server.
//!
//! Whoever can ask here acts with the user's key. The path is therefore a secret of this run, which keeps out other users
//! and programs of the machine, and foreign web pages are refused by their names and origins, as `dev` refuses them.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

use super::error::Error;
use crate::api::http::{self, Body, Client, Url};

/// Headers that belong to one connection, or to the browser's relation to this machine.
const OWN: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "host",
    "keep-alive",
    "origin",
    "proxy-authorization",
    "proxy-connection",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What answers of the server may do in a browser: nothing.
const POLICY: &str = "sandbox; default-src 'none'; frame-ancestors 'none'";

/// A page, of one document.
pub struct Page {
    /// The document.
    pub document: String,
    /// The headers of its answer.
    pub headers: Vec<(&'static str, String)>,
}

/// What serves the page, and forwards everything else.
pub struct Front {
    http: Client,
    base: Url,
    headers: HeaderMap,
    page: Page,
    /// The first part of all paths.
    secret: String,
}

impl Front {
    pub(super) fn new(http: Client, base: Url, headers: HeaderMap, page: Page) -> Result<Self, Error> {
        let mut bytes = [0; 16];
        let random = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
        random.map_err(|_| Error::Setup { reason: "the system has no random numbers".to_owned() })?;
        Ok(Self { http, base, headers, page, secret: hex::encode(bytes) })
    }

    /// The path of the page.
    pub fn path(&self) -> String {
        format!("/{}/", self.secret)
    }

    /// Answers the connections of a listener on this machine; does not end by itself.
    ///
    /// # Errors
    ///
    /// The listener breaks.
    pub async fn serve(self, listener: TcpListener) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::Setup { reason: error.to_string() };
        let address = listener.local_addr().map_err(failed)?;
        let hosts = [address.to_string(), format!("localhost:{}", address.port())];
        let front = Arc::new((self, hosts));
        loop {
            let (stream, _) = listener.accept().await.map_err(failed)?;
            let front = front.clone();
            let answer = service_fn(move |request| {
                let front = front.clone();
                async move { Ok::<_, Infallible>(front.0.answer(request, &front.1).await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    }

    async fn answer(&self, request: Request<Incoming>, hosts: &[String]) -> Response<Body> {
        if !is_own(request.headers(), hosts) {
            return refusal(StatusCode::FORBIDDEN, "this page may not use the server");
        }
        match request.uri().path().strip_prefix(&self.path()) {
            None => refusal(StatusCode::NOT_FOUND, "open the URL that `agentcli open` printed"),
            Some("") => self.page(),
            Some(_) => self.forward(request).await,
        }
    }

    fn page(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.page.document.clone()));
        for (name, value) in &self.page.headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }

    async fn forward(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let mut url = self.base.clone();
        let rest = &parts.uri.path()[self.path().len()..];
        url.set_path(&format!("{}/{rest}", self.base.path().trim_end_matches('/')));
        url.set_query(parts.uri.query());
        let mut headers = foreign(&parts.headers);
        headers.extend(self.headers.clone());
        let sent = self.http.request(parts.method, url).headers(headers).body(Body::wrap(body)).send().await;
        let response = match sent {
            Ok(response) => Response::<Body>::from(response),
            Err(error) => return refusal(StatusCode::BAD_GATEWAY, &http::reason(&error)),
        };
        let (mut parts, body) = response.into_parts();
        parts.headers = foreign(&parts.headers);
        parts.headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
        parts.headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        Response::from_parts(parts, body)
    }
}

/// Whether a request is of a program, or of the page itself: names of foreign pages can lead here, and foreign pages can
/// send requests.
fn is_own(headers: &HeaderMap, hosts: &[String]) -> bool {
    let named: Vec<_> = headers.get_all(HOST).iter().collect();
    let [host] = named[..] else { return false };
    let of_host = |origin: &HeaderValue| origin.as_bytes() == [b"http://", host.as_bytes()].concat();
    hosts.iter().any(|own| own.as_bytes() == host.as_bytes()) && headers.get_all(ORIGIN).iter().all(of_host)
}

/// The headers that go through.
fn foreign(headers: &HeaderMap) -> HeaderMap {
    let goes = |name: &HeaderName| {
        let name = name.as_str();
        !OWN.contains(&name) && !["access-control-", "sec-"].iter().any(|start| name.starts_with(start))
    };
    headers.iter().filter(|(name, _)| goes(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn refusal(status: StatusCode, detail: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(json!({ "detail": detail }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    response
}
