//! A switch to other backends drops nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::{Method, StatusCode};

use crate::backend::{Backend, EVENTS};
use crate::client::{Client, Raw, get, post};
use crate::{Running, soon, until};

/// Each revision is drained and then killed, while clients send requests without a pause.
#[tokio::test]
async fn no_request_fails_and_no_stream_is_cut_over_many_switches() {
    let proxy = Running::start(|_| {}).await;
    let mut current = Backend::start("revision").await;
    proxy.ready("app", &[&current]);
    let is_over = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..8)
        .map(|index| {
            let (address, is_over, count) = (proxy.address, is_over.clone(), count.clone());
            tokio::spawn(async move {
                let mut client = Client::connect(address).await;
                while !is_over.load(Ordering::SeqCst) {
                    let answer = match index % 2 {
                        0 => client.send(Method::GET, "app.localhost", "/name", &[], "").await,
                        _ => client.send(Method::POST, "app.localhost", "/upload", &[], "revision").await,
                    };
                    let answer = answer.unwrap();
                    assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "revision"));
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let mut streams = Vec::new();
    let mut stops = Vec::new();
    for _ in 0..100 {
        streams.push(tokio::spawn(get(proxy.address, "app.localhost", "/sse")));
        let target = count.load(Ordering::SeqCst) + 10;
        until(|| count.load(Ordering::SeqCst) >= target || clients.iter().any(|client| client.is_finished()))
            .await;
        let old = std::mem::replace(&mut current, Backend::start("revision").await);
        proxy.ready("app", &[&current]);
        let routes = proxy.routes.clone();
        stops.push(tokio::spawn(async move {
            assert_eq!(routes.drain(old.address, crate::SOON).await, 0);
            old.kill();
        }));
    }
    is_over.store(true, Ordering::SeqCst);
    for client in clients.into_iter().chain(stops) {
        soon(client).await.unwrap();
    }
    for stream in streams {
        let answer = soon(stream).await.unwrap();
        assert_eq!(answer.text.matches("data: revision ").count(), EVENTS);
    }
    assert!(count.load(Ordering::SeqCst) >= 1000);
}

#[tokio::test]
async fn open_requests_stay_with_their_backend() {
    let proxy = Running::start(|_| {}).await;
    let (old, new) = (Backend::start("old").await, Backend::start("new").await);
    proxy.ready("app", &[&old]);
    let mut kept = Client::connect(proxy.address).await;
    assert_eq!(kept.send(Method::GET, "app.localhost", "/name", &[], "").await.unwrap().text, "old");
    let waiting = tokio::spawn(get(proxy.address, "app.localhost", "/gate"));
    let mut upload = Raw::connect(proxy.address).await;
    upload
        .write("POST /upload HTTP/1.1\r\nHost: app.localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        .await;
    upload.read_until("a\r\n").await;
    let mut upgraded = Raw::connect(proxy.address).await;
    upgraded
        .write("GET /ws HTTP/1.1\r\nHost: app.localhost\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
        .await;
    upgraded.read_until("old").await;
    until(|| old.requests() == 4).await;

    proxy.ready("app", &[&new]);
    assert_eq!(kept.send(Method::GET, "app.localhost", "/name", &[], "").await.unwrap().text, "new");
    let drained = tokio::spawn({
        let (routes, address) = (proxy.routes.clone(), old.address);
        async move { routes.drain(address, crate::SOON).await }
    });
    upgraded.write("x").await;
    upgraded.read_until("x").await;
    upload.write("1\r\nb\r\n0\r\n\r\n").await;
    upload.read_until("b\r\n0\r\n\r\n").await;
    old.seen.gate.send_replace(true);
    assert_eq!(soon(waiting).await.unwrap().text, "old");
    assert!(!drained.is_finished());
    drop(upgraded);
    assert_eq!(soon(drained).await.unwrap(), 0);
    // Nothing is left to drain, and an address without a route has nothing.
    assert_eq!(proxy.routes.drain(old.address, Duration::ZERO).await, 0);
}

#[tokio::test]
async fn drain_cuts_off_what_is_open_at_its_deadline() {
    let proxy = Running::start(|_| {}).await;
    let (old, new) = (Backend::start("old").await, Backend::start("new").await);
    proxy.ready("app", &[&old]);
    let get_gate = tokio::spawn(get(proxy.address, "app.localhost", "/gate"));
    let post_gate = tokio::spawn(post(proxy.address, "app.localhost", "/gate", "body"));
    let mut upgraded = Raw::connect(proxy.address).await;
    upgraded
        .write("GET /ws HTTP/1.1\r\nHost: app.localhost\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
        .await;
    upgraded.read_until("old").await;
    let mut events = Raw::connect(proxy.address).await;
    events.write("GET /sse HTTP/1.1\r\nHost: app.localhost\r\n\r\n").await;
    events.read_until("data: old 0").await;
    proxy.ready("app", &[&new]);
    assert_eq!(proxy.routes.drain(old.address, Duration::from_millis(50)).await, 4);
    assert_eq!(upgraded.rest().await, "");
    assert!(!events.rest().await.ends_with("0\r\n\r\n"), "the stream ended as if it were complete");
    let cut = soon(post_gate).await.unwrap();
    assert!(cut.status == StatusCode::BAD_GATEWAY && cut.detail().contains("may have been processed"));
    // This one can be repeated, so that the new backend gets it.
    new.seen.gate.send_replace(true);
    assert_eq!(soon(get_gate).await.unwrap().text, "new");
}
