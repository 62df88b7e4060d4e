//! What a client may take: time and connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use agentcli_host::{Limits, Store};
use serde_json::json;

use super::created;
use super::service::{Host, KEY, PATIENCE};

/// So long a client may keep the service waiting here, unless it is one that has to be in time.
const SHORT: Duration = Duration::from_millis(300);

fn host(change: impl FnOnce(&mut Limits)) -> Host {
    Host::start(|options| change(&mut options.limits))
}

fn connection(host: &Host, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(host.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// All that is answered until the service ends the connection.
fn said(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    if let Err(error) = stream.read_to_end(&mut said) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is not ended");
    }
    String::from_utf8(said).unwrap()
}

#[test]
fn a_header_that_does_not_come_ends_the_connection() {
    let host = host(|limits| limits.header = SHORT);
    for text in ["", "GET /v2/deployments HTTP/1.1\r\nHost: x\r\nX-Api-"] {
        let said = said(connection(&host, text));
        assert!(said.is_empty() || said.contains(" 408 "), "{said}");
    }
}

#[test]
fn a_body_that_does_not_come_is_refused() {
    let enough = Duration::from_secs(10);
    let host = host(|limits| (limits.body, limits.piece) = (enough, SHORT));
    let head = format!(
        "POST /v2/deployments HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    let answer = said(connection(&host, &head));
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("The body takes too long."), "{answer}");
    let id = created(&host, "app");
    let path = format!("/v2/deployments/{id}/upload-url");
    let place = host.expect(200, "POST", &path, Some(&json!({})));
    let path = place["upload_url"].as_str().unwrap().strip_prefix(&host.url()).unwrap();
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/gzip\r\n\
         Content-Length: 100\r\n\r\nx"
    );
    let answer = said(connection(&host, &head));
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("The upload timed out."), "{answer}");
}

/// Values take many times their text in memory.
#[test]
fn body_of_very_many_values_is_refused() {
    let host = host(|_| {});
    let many = format!("[{}1]", "1,".repeat(100_000));
    let path = "/v2/deployments";
    for body in [many.clone(), format!("{{\"other\": {many}}}")] {
        let body = Some(("application/json", body.into_bytes()));
        let answer = host.send("POST", path, &[("X-Api-Key", KEY)], body).unwrap();
        assert_eq!(answer.status, 413, "{}", answer.text);
        assert_eq!(answer.json["detail"], "The body must have at most 20000 values.");
    }
}

/// Clients that ask on and on and read nothing get no further than a client that asks nothing.
#[test]
fn clients_that_read_nothing_are_cut_and_others_are_served() {
    let host = host(|limits| (limits.connections, limits.write) = (2, SHORT));
    let greedy = |host: &Host| {
        let mut stream = connection(host, "");
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        std::thread::spawn(move || {
            let requests = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1000);
            loop {
                if let Err(error) = stream.write_all(requests.as_bytes()) {
                    return error.kind();
                }
            }
        })
    };
    let clients = [greedy(&host), greedy(&host)];
    let request =
        format!("GET /v2/deployments HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: {KEY}\r\n\r\n");
    assert!(said(connection(&host, &request)).starts_with("HTTP/1.1 200 "));
    for client in clients {
        let kind = client.join().unwrap();
        let is_cut = matches!(kind, std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset);
        assert!(is_cut, "it is not cut: {kind}");
    }
}

/// A request on a connection from this address; the start of the answer.
async fn begin(host: &Host, from: [u8; 4], request: &str) -> (tokio::net::TcpStream, String) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    let mut stream = socket.connect(host.address()).await.unwrap();
    // It may be refused before.
    stream.write_all(request.as_bytes()).await.ok();
    let mut start = vec![0; 4096];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut start)).await.expect("there is no answer");
    let length = read.unwrap_or_default();
    (stream, String::from_utf8_lossy(&start[..length]).into_owned())
}

#[tokio::test]
async fn connections_of_an_address_and_of_a_tenant_have_limits() {
    let other = "key-of-another-tenant-0123456789";
    let host = Host::start(|options| {
        (options.limits.per_address, options.limits.per_tenant) = (3, 2);
        let store = Store::attach(&options.data).unwrap();
        // A runtime cannot be started within another one.
        let add = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(store.add_key("others", other)).unwrap();
        };
        std::thread::spawn(add).join().unwrap();
    });
    let request = |key: &str| format!("GET /v2/deployments HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\n\r\n");
    let (here, there) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let first = begin(&host, here, &request(KEY)).await;
    let second = begin(&host, here, &request(KEY)).await;
    assert!(first.1.starts_with("HTTP/1.1 200 ") && second.1.starts_with("HTTP/1.1 200 "));
    // A third one of the tenant, from anywhere.
    for from in [here, there] {
        let (_stream, answer) = begin(&host, from, &request(KEY)).await;
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        assert!(answer.contains("The tenant of this key has 2 connections"), "{answer}");
    }
    let third = begin(&host, here, &request(other)).await;
    assert!(third.1.starts_with("HTTP/1.1 200 "), "{}", third.1);
    // A fourth one from here, and the first from another address.
    let (_stream, answer) = begin(&host, here, "").await;
    assert!(
        answer.starts_with("HTTP/1.1 429 ") && answer.contains("too many connections from here"),
        "{answer}"
    );
    let elsewhere = begin(&host, there, &request(other)).await;
    assert!(elsewhere.1.starts_with("HTTP/1.1 200 "), "{}", elsewhere.1);
    drop(first);
    let deadline = std::time::Instant::now() + PATIENCE;
    while !begin(&host, here, &request(KEY)).await.1.starts_with("HTTP/1.1 200 ") {
        assert!(std::time::Instant::now() < deadline, "its place is not free");
    }
}

#[test]
fn who_comes_when_all_connections_are_taken_waits_for_one() {
    let host = host(|limits| limits.connections = 2);
    let request =
        format!("GET /v2/deployments HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: {KEY}\r\n\r\n");
    let (first, second) = (connection(&host, ""), connection(&host, ""));
    let mut third = connection(&host, &request);
    third.set_read_timeout(Some(SHORT)).unwrap();
    assert!(third.read(&mut [0]).is_err(), "more are served than may be");
    third.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(first);
    assert!(said(third).starts_with("HTTP/1.1 200 "));
    drop(second);
}
