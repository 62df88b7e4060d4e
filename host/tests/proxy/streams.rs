//! Bodies and upgraded connections are streamed both ways.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::{Method, StatusCode};

use crate::backend::{Backend, EVENTS, PIECE};
use crate::client::{Client, Raw};
use crate::{Running, soon, until};

#[tokio::test]
async fn events_arrive_one_by_one() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Client::connect(proxy.address).await;
    let mut body = client.stream(Method::GET, "app.localhost", "/sse", &[], "").await.unwrap().into_body();
    let mut pieces = 0;
    while let Some(frame) = soon(body.frame()).await {
        pieces += usize::from(!frame.unwrap().into_data().unwrap().is_empty());
    }
    assert!(pieces > EVENTS / 2, "{EVENTS} events in {pieces} pieces");
}

#[tokio::test]
async fn upload_is_echoed_while_it_goes_on() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Raw::connect(proxy.address).await;
    client
        .write("POST /upload HTTP/1.1\r\nHost: app.localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        .await;
    client.read_until("first").await;
    client.write("6\r\nsecond\r\n0\r\n\r\n").await;
    assert_eq!(client.read_until("0\r\n\r\n").await, "\r\n6\r\nsecond\r\n0\r\n\r\n");
}

#[tokio::test]
async fn body_of_a_get_request_is_forwarded() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Raw::connect(proxy.address).await;
    client
        .write("GET /echo HTTP/1.1\r\nHost: app.localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
        .await;
    client.read_until("\nbody").await;
}

/// Two lengths of one body would let a client hide a second request in it.
#[tokio::test]
async fn body_has_one_length() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    let raw = Backend::raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    )
    .await;
    proxy.ready("app", &[&backend]);
    proxy.ready("raw", &[&raw]);
    let lengths = [
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 1",
    ];
    for lengths in lengths {
        let mut client = Raw::connect(proxy.address).await;
        client
            .write(&format!(
                "POST /echo HTTP/1.1\r\nHost: app.localhost\r\n{lengths}\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
            ))
            .await;
        let answer = client.read_until("\nbody").await;
        let (_, request) = answer.split_once("POST /echo").unwrap();
        assert!(request.contains("\ntransfer-encoding: chunked\n"), "{answer}");
        assert!(!request.contains("\ncontent-length: "), "{answer}");
    }
    let mut client = Client::connect(proxy.address).await;
    let answer = client.send(Method::GET, "raw.localhost", "/", &[], "").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.headers.get("content-length")), ("body", None));
    let headers = [("connection", "content-length")];
    let answer = client.send(Method::POST, "app.localhost", "/echo", &headers, "body").await.unwrap();
    assert!(answer.text.contains("\ntransfer-encoding: chunked\n"), "{}", answer.text);
}

#[tokio::test]
async fn client_is_asked_to_continue_when_the_backend_reads() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.set("app", agentcli_host::proxy::Route::Asleep);
    let mut client = Raw::connect(proxy.address).await;
    client
        .write("POST /upload HTTP/1.1\r\nHost: app.localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        .await;
    soon(proxy.routes.wanted()).await;
    proxy.ready("app", &[&backend]);
    let asked = client.read_until("\r\n\r\n").await;
    assert!(asked.starts_with("HTTP/1.1 100 Continue\r\n"), "{asked}");
    client.write("body").await;
    assert!(client.read_until("body").await.contains("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn trailers_are_forwarded() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Client::connect(proxy.address).await;
    let headers = [("te", "trailers")];
    let answer = client.send(Method::GET, "app.localhost", "/trailers", &headers, "").await.unwrap();
    assert_eq!((answer.text.as_str(), &answer.trailers["checksum"]), ("data", &"42".parse().unwrap()));
    let mut client = Raw::connect(proxy.address).await;
    client
        .write(
            "POST /echo HTTP/1.1\r\nHost: app.localhost\r\nTransfer-Encoding: chunked\r\nTrailer: checksum\r\n\r\n\
             4\r\nbody\r\n0\r\nchecksum: 43\r\n\r\n",
        )
        .await;
    client.read_until("\nchecksum: 43\nbody").await;
}

#[tokio::test]
async fn head_requests_and_http_1_0_clients() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Client::connect(proxy.address).await;
    let answer = client.send(Method::HEAD, "app.localhost", "/name", &[], "").await.unwrap();
    assert_eq!((answer.status, answer.headers["content-length"].as_bytes()), (StatusCode::OK, &b"7"[..]));
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET /sse HTTP/1.0\r\nHost: app.localhost\r\n\r\n").await;
    let answer = client.rest().await;
    assert!(answer.ends_with(&format!("data: backend {}\n\n", EVENTS - 1)), "{answer}");
    assert!(!answer.contains("chunked"), "{answer}");
}

/// A client that does not read stops the backend, so that nothing piles up in between.
#[tokio::test]
async fn slow_client_slows_the_backend_down() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET /endless HTTP/1.1\r\nHost: app.localhost\r\n\r\n").await;
    client.read_until("\r\n\r\n").await;
    let pieces = || backend.seen.pieces.load(Ordering::SeqCst);
    let mut last = 0;
    // Buffers of the system hold a few megabytes.
    soon(async {
        while pieces() != last {
            last = pieces();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    })
    .await;
    assert!(last > 0 && last * PIECE < 64 * 1024 * 1024, "{last} pieces");
    drop(client);
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
}

/// A client that reads nothing at all keeps neither a connection of the proxy nor one of the backend.
#[tokio::test]
async fn client_that_reads_nothing_is_cut() {
    let proxy = Running::start(|options| options.write = Duration::from_millis(200)).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET /endless HTTP/1.1\r\nHost: app.localhost\r\n\r\n").await;
    until(|| backend.seen.pieces.load(Ordering::SeqCst) > 0).await;
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
    // It is served again when it reads.
    let mut client = Client::connect(proxy.address).await;
    assert_eq!(client.send(Method::GET, "app.localhost", "/name", &[], "").await.unwrap().text, "backend");
}

#[tokio::test]
async fn requests_of_a_deployment_and_connections_of_an_address_have_limits() {
    let proxy = Running::start(|options| (options.requests, options.per_address) = (1, 2)).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    proxy.ready("other", &[&backend]);
    let mut open = Raw::connect(proxy.address).await;
    open.write("GET /endless HTTP/1.1\r\nHost: app.localhost\r\n\r\n").await;
    open.read_until("\r\n\r\n").await;
    let mut client = Client::connect(proxy.address).await;
    let refused = client.send(Method::GET, "app.localhost", "/name", &[], "").await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.detail().starts_with("1 requests to this deployment are open"), "{}", refused.text);
    let other = client.send(Method::GET, "other.localhost", "/name", &[], "").await.unwrap();
    assert_eq!(other.text, "backend");
    let mut third = Raw::connect(proxy.address).await;
    assert!(third.rest().await.starts_with("HTTP/1.1 429 "));
}

#[tokio::test]
async fn upgraded_connections_are_open_requests() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Raw::connect(proxy.address).await;
    client
        .write("GET /ws HTTP/1.1\r\nHost: app.localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
        .await;
    let head = client.read_until("\r\n\r\n").await.to_lowercase();
    assert!(head.starts_with("http/1.1 101 ") && head.contains("\r\nupgrade: echo\r\n"), "{head}");
    assert_eq!(client.read_until("backend").await, "backend");
    client.write("x").await;
    client.read_until("x").await;
    assert_eq!(proxy.routes.activity("app").unwrap().open, 1);
    drop(client);
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
}
