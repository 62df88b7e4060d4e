//! Engines that are none: a socket that answers `_ping` and plays a recorded answer to `build`, for what a real engine
//! does rarely or cannot be made to do; and a registry that lets nobody in.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use tempfile::TempDir;

/// How the engine's answer to `build` ends.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    Whole,
    BrokenOff,
}

/// An engine that answers `build` with these lines. Returns its address, what keeps it there, and the heads of the
/// requests that it gets.
pub(super) fn engine(lines: &[String], end: End) -> (String, TempDir, Receiver<String>) {
    let dir = TempDir::new().unwrap();
    let socket = dir.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let (sender, heads) = mpsc::channel();
    let body: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (sender, body) = (sender.clone(), body.clone());
            // The other side may hang up at any time; that is what some tests are about.
            thread::spawn(move || _ = answer(stream, &sender, &body, end));
        }
    });
    (format!("unix://{}", socket.display()), dir, heads)
}

fn head(reader: &mut impl std::io::BufRead) -> std::io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    Ok(head)
}

/// Reads a chunked body to its end.
fn skip_chunks(reader: &mut impl std::io::BufRead) -> std::io::Result<()> {
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim(), 16).map_err(std::io::Error::other)?;
        std::io::copy(&mut reader.take(size + 2), &mut std::io::sink())?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn answer(
    mut stream: impl Read + Write,
    heads: &mpsc::Sender<String>,
    body: &str,
    end: End,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(&mut stream);
    let head = head(&mut reader)?;
    let _ = heads.send(head.clone());
    if head.starts_with("POST /build") {
        skip_chunks(&mut reader)?;
    }
    if head.starts_with("GET /_ping") {
        return stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK");
    }
    if !head.starts_with("POST /build") {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")?;
    // Pieces of an awkward length: lines and characters are cut anywhere, and the end of the last line comes by itself.
    let (lines, last) = body.split_at(body.trim_end().len());
    for piece in lines.as_bytes().chunks(97).chain([last.as_bytes()]) {
        write!(stream, "{:x}\r\n", piece.len())?;
        stream.write_all(piece)?;
        stream.write_all(b"\r\n")?;
    }
    if end == End::Whole { stream.write_all(b"0\r\n\r\n") } else { Ok(()) }
}

/// A registry on this machine that asks for a password, and knows no image. Returns its `host:port` and the values of
/// the `Authorization` headers that it gets.
pub(super) fn registry() -> (String, Receiver<Option<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, seen) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            thread::spawn(move || -> std::io::Result<()> {
                // Engines try TLS first, and then fall back if what answers is HTTP.
                let head = head(&mut BufReader::new(&mut stream)).unwrap_or_default();
                if head.is_empty() {
                    return stream.write_all(b"HTTP/1.0 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                }
                let lines = head.lines().filter_map(|line| line.split_once(": "));
                let mut sent = lines
                    .filter(|(name, _)| name.eq_ignore_ascii_case("authorization"))
                    .map(|(_, value)| value);
                let sent = sent.next().map(str::to_owned);
                let status = if sent.is_some() { "404 Not Found" } else { "401 Unauthorized" };
                let _ = sender.send(sent);
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\nWWW-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\n\
                     Connection: close\r\n\r\n"
                )
            });
        }
    });
    (address, seen)
}
