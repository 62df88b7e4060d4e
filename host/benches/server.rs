//! A small server of a deployment: it answers every request with `ok` at once, and `/stream` with an event every half
//! second for 10 s, of which the last is `end`. Unlike real servers, it ends at once when it is stopped: a request that it
//! still has then fails.
//!
//! Usage: server      with the port in the variable `PORT`

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// Number of events of a stream, and the pause before each.
const EVENTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(500);

async fn event(number: u32) -> Result<Frame<Bytes>, Infallible> {
    sleep(PAUSE).await;
    let name = if number == EVENTS { "end" } else { "beat" };
    Ok(Frame::data(Bytes::from(format!("event: {name}\ndata: {number}\n\n"))))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let port: u16 = std::env::var("PORT")?.parse()?;
    let listener = TcpListener::bind(("0.0.0.0", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = service_fn(async |request: Request<Incoming>| {
            let body = match request.uri().path() {
                "/stream" => Either::Left(StreamBody::new(stream::iter(1..=EVENTS).then(event))),
                _ => Either::Right(Full::new(Bytes::from_static(b"ok"))),
            };
            Ok::<_, Infallible>(Response::new(body))
        });
        // A client may close its connection at any time.
        tokio::spawn(
            async move { http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await },
        );
    }
}
