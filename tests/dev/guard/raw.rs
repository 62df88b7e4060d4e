//! HTTP over plain sockets, so that a test can send what no client would.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::dev::PATIENCE;

/// The answer to a request.
#[derive(Debug)]
pub(in crate::dev) struct Response {
    pub(in crate::dev) status: u16,
    /// The status line and the headers, in lower case.
    pub(in crate::dev) head: String,
    pub(in crate::dev) body: String,
}

impl Response {
    /// What the JSON of a refusal says.
    pub(super) fn detail(&self) -> String {
        let json: Value = serde_json::from_str(&self.body).unwrap_or_default();
        json["detail"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// Sends a request to a port of this machine, with these headers only, beside those of its connection and its body.
pub(in crate::dev) fn ask(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let upgrades = headers.iter().any(|(name, _)| *name == "Upgrade");
    let mut head = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !upgrades {
        head += &format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
    }
    exchange(port, &format!("{head}\r\n{body}"))
}

/// Sends text, and reads the answer up to its end, or that of its head where the protocol is switched.
pub(super) fn exchange(port: u16, request: &str) -> Response {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer to {request}: {head}"));
    let mut body = String::new();
    if status != 101 {
        reader.read_to_string(&mut body).unwrap();
    }
    Response { status, head: head.to_lowercase(), body }
}
