//! What a client may take: time and connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use agentcli_host::Limits;
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
