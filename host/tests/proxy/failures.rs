//! Backends that fail, and clients that misbehave.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use agentcli_host::proxy::Route;
use hyper::{Method, StatusCode};
use tokio::net::{TcpSocket, TcpStream};

use crate::backend::Backend;
use crate::client::{Client, Raw, get, post, raw};
use crate::{Running, soon, until};

#[tokio::test]
async fn dead_replica_costs_no_request() {
    let proxy = Running::start(|_| {}).await;
    let (dead, alive) = (Backend::start("dead").await, Backend::start("alive").await);
    dead.kill();
    proxy.ready("app", &[&dead, &alive]);
    for _ in 0..10 {
        assert_eq!(post(proxy.address, "app.localhost", "/name", "body").await.text, "alive");
    }
}

#[tokio::test]
async fn closed_idle_connection_costs_no_request() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    proxy.ready("app", &[&backend]);
    let mut client = Client::connect(proxy.address).await;
    for _ in 0..200 {
        let answer = client.send(Method::GET, "app.localhost", "/", &[], "").await.unwrap();
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "ok"));
    }
    assert_eq!(backend.requests(), 200);
}

#[tokio::test]
async fn connections_to_backends_are_reused() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    for _ in 0..20 {
        get(proxy.address, "app.localhost", "/name").await;
        post(proxy.address, "app.localhost", "/name", "body").await;
    }
    let connections = backend.seen.connections.load(Ordering::SeqCst);
    assert!(connections < 20, "{connections} connections");
}

/// Servers close idle connections after 5 s: a request that cannot be repeated must not meet that.
#[tokio::test]
async fn request_that_cannot_be_repeated_uses_no_idle_connection() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let connections = || backend.seen.connections.load(Ordering::SeqCst);
    get(proxy.address, "app.localhost", "/name").await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    post(proxy.address, "app.localhost", "/name", "body").await;
    assert_eq!(connections(), 2);
}

#[tokio::test]
async fn replica_that_does_not_answer_is_avoided() {
    let proxy = Running::start(|options| options.connect = Duration::from_secs(2)).await;
    let alive = Backend::start("alive").await;
    let full = TcpSocket::new_v4().unwrap();
    full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = full.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let mut pending = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        pending.push(stream);
    }
    proxy.set("app", Route::Ready(vec![address, alive.address]));
    let start = Instant::now();
    for _ in 0..10 {
        assert_eq!(post(proxy.address, "app.localhost", "/name", "body").await.text, "alive");
    }
    // Without that, every other request waits for 2 s.
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test]
async fn broken_upload_is_a_bad_request() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let head = "POST /gate HTTP/1.1\r\nHost: app.localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
    let mut client = Raw::connect(proxy.address).await;
    client.write(head).await;
    until(|| backend.requests() == 1).await;
    client.write("not a length\r\n").await;
    let answer = client.rest().await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("its body ended early"), "{answer}");
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
}

#[tokio::test]
async fn only_a_repeatable_request_goes_to_another_replica() {
    let proxy = Running::start(|_| {}).await;
    let (silent, alive) = (Backend::raw(b"").await, Backend::start("alive").await);
    proxy.ready("app", &[&silent, &alive]);
    for _ in 0..4 {
        assert_eq!(get(proxy.address, "app.localhost", "/name").await.text, "alive");
    }
    assert!(silent.requests() > 0);
    let lost = alive.requests();
    proxy.ready("app", &[&silent]);
    let answer = post(proxy.address, "app.localhost", "/name", "").await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let detail = answer.detail();
    assert!(detail.contains("closed the connection without a response"), "{detail}");
    assert!(detail.contains("may have been processed") && !answer.headers.contains_key("retry-after"));
    assert_eq!(alive.requests(), lost);
}

/// Each repetition may kill a server.
#[tokio::test]
async fn request_that_kills_servers_is_repeated_once() {
    let proxy = Running::start(|_| {}).await;
    let replicas = [Backend::start("a").await, Backend::start("b").await, Backend::start("c").await];
    proxy.ready("app", &replicas.each_ref());
    assert_eq!(get(proxy.address, "app.localhost", "/die").await.status, StatusCode::BAD_GATEWAY);
    assert_eq!(replicas.iter().map(Backend::requests).sum::<usize>(), 2);
}

#[tokio::test]
async fn invalid_responses_are_502_with_a_reason() {
    let proxy = Running::start(|_| {}).await;
    let junk = Backend::raw(b"220 smtp.example.com\r\n\r\n").await;
    let upgrading = Backend::start("upgrading").await;
    proxy.ready("junk", &[&junk]);
    proxy.ready("upgrading", &[&upgrading]);
    for (host, path) in [("junk.localhost", "/"), ("upgrading.localhost", "/unasked-upgrade")] {
        let answer = get(proxy.address, host, path).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{host}");
        assert!(answer.detail().contains("not valid HTTP"), "{answer:?}");
    }
    assert_eq!(junk.requests(), 1);
}

#[tokio::test]
async fn response_that_breaks_off_does_so_for_the_client() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let half = Backend::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf").await;
    proxy.ready("half", &[&half]);
    let mut client = Client::connect(proxy.address).await;
    client.send(Method::GET, "half.localhost", "/", &[], "").await.unwrap_err();
    let mut client = Client::connect(proxy.address).await;
    let mut response = client.stream(Method::GET, "app.localhost", "/sse", &[], "").await.unwrap();
    http_body_util::BodyExt::frame(&mut response).await.unwrap().unwrap();
    backend.kill();
    let rest = soon(http_body_util::BodyExt::collect(response)).await;
    assert!(rest.is_err());
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
}

/// Servers stop working on a request whose client is gone.
#[tokio::test]
async fn backend_notices_that_the_client_is_gone() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET /gate HTTP/1.1\r\nHost: app.localhost\r\n\r\n").await;
    until(|| backend.seen.gate.receiver_count() == 1).await;
    drop(client);
    until(|| backend.seen.gate.receiver_count() == 0).await;
    assert_eq!(soon(proxy.routes.drain(backend.address, crate::SOON)).await, 0);
}

#[tokio::test]
async fn request_headers_are_bounded_in_size_and_time() {
    let proxy = Running::start(|options| {
        options.header_size = 1000;
        options.header = Duration::from_millis(100);
    })
    .await;
    let large = format!("GET / HTTP/1.1\r\nHost: app.localhost\r\nX-Large: {}\r\n\r\n", "x".repeat(1000));
    let answer = raw(proxy.address, &large).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    // The proxy closes the connection, since the header never ends.
    raw(proxy.address, "GET / HTTP/1.1\r\nHost: app.loc").await;
}

#[tokio::test]
async fn connections_are_bounded() {
    let proxy = Running::start(|options| options.connections = 1).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let first = tokio::spawn(get(proxy.address, "app.localhost", "/gate"));
    until(|| backend.requests() == 1).await;
    let second = tokio::spawn(get(proxy.address, "app.localhost", "/name"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(backend.requests(), 1);
    backend.seen.gate.send_replace(true);
    assert_eq!(soon(first).await.unwrap().text, "backend");
    assert_eq!(soon(second).await.unwrap().text, "backend");
}

#[tokio::test]
async fn upgraded_connections_count_until_the_proxy_stops() {
    let proxy = Running::start(|options| {
        options.connections = 1;
        options.grace = Duration::from_millis(50);
    })
    .await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut upgraded = Raw::connect(proxy.address).await;
    upgraded
        .write("GET /ws HTTP/1.1\r\nHost: app.localhost\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
        .await;
    upgraded.read_until("backend").await;
    let second = tokio::spawn(get(proxy.address, "app.localhost", "/name"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(backend.requests(), 1);
    upgraded.write("x").await;
    upgraded.read_until("x").await;
    second.abort();
    proxy.stop().await;
    assert_eq!(upgraded.rest().await, "");
}

#[tokio::test]
async fn open_requests_complete_when_the_proxy_stops() {
    let proxy = Running::start(|options| options.grace = crate::SOON).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let address = proxy.address;
    let request = tokio::spawn(get(address, "app.localhost", "/gate"));
    until(|| backend.requests() == 1).await;
    let stop = tokio::spawn(proxy.stop());
    until(|| std::net::TcpStream::connect(address).is_err()).await;
    backend.seen.gate.send_replace(true);
    assert_eq!(soon(request).await.unwrap().text, "backend");
    soon(stop).await.unwrap();
}
