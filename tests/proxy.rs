//! A proxy on loopback that breaks HTTP on purpose, one request a connection.
//!
//! ```ignore
//! let proxy = Proxy::start(host.address());
//! proxy.fail("PATCH", "/v2/deployments/", Fault::Lost, 1);
//! // … --host-url proxy.url() …
//! assert_eq!(proxy.forwarded("PATCH", "/v2/deployments/"), 1);
//! ```

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, oneshot};

/// What goes wrong with a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The connection is reset before anything is done.
    Reset,
    /// The connection is reset after half of the request's body; nothing is done.
    ResetInRequest,
    /// It is done, and the connection is reset after half of the answer's body.
    ResetInAnswer,
    /// It is done, and each tenth of the answer comes so much later.
    Slow(Duration),
    /// It is done, and the connection ends without an answer.
    Lost,
    /// It is never answered, and nothing is done.
    Hang,
    /// It is done, and half of the answer's body is all of it.
    Truncated,
    /// It is done, and the answer says that it is of another type.
    WrongType,
    /// This is answered, whole lines of a header and a body, and nothing is done.
    Answer(u16, &'static [(&'static str, &'static str)], &'static str),
    /// Another address is answered, with this status, and nothing is done.
    Redirect(u16, String),
}

impl Fault {
    /// The service is too busy, for so many seconds.
    pub(crate) const BUSY: Self =
        Self::Answer(429, &[("Retry-After", "1"), JSON], r#"{"detail":"Slow down."}"#);
    /// The service is broken.
    pub(crate) const BROKEN: Self = Self::Answer(500, &[JSON], r#"{"detail":"Internal Server Error"}"#);
    /// Something before the service cannot reach it.
    pub(crate) const GATEWAY: Self = Self::Answer(
        502,
        &[("Content-Type", "text/html")],
        "<html><body><h1>502 Bad Gateway</h1></body></html>",
    );
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A proxy before one address. It ends when it is dropped, and with it its connections.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    rules: Vec<Rule>,
    mended: Arc<Notify>,
    heads: Vec<String>,
    forwarded: Vec<(String, String)>,
}

struct Rule {
    method: String,
    path: String,
    fault: Fault,
    left: usize,
}

impl Proxy {
    /// Hands everything on to `upstream`.
    pub(crate) fn start(upstream: SocketAddr) -> Self {
        let (end, ended) = oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = serve(listener, upstream, of_thread) => {}
                    _ = ended => {}
                }
            });
        });
        Self { address: address.recv().unwrap(), shared, end: Some(end), thread: Some(thread) }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same, for `--host-url`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next `times` requests of this method (any, where it is empty) whose path holds `path` go wrong.
    pub(crate) fn fail(&self, method: &str, path: &str, fault: Fault, times: usize) {
        let rule = Rule { method: method.to_owned(), path: path.to_owned(), fault, left: times };
        self.shared.lock().unwrap().rules.push(rule);
    }

    /// Nothing goes wrong any more, and what hangs ends.
    pub(crate) fn mend(&self) {
        let mut shared = self.shared.lock().unwrap();
        shared.rules.clear();
        shared.mended.notify_waiters();
    }

    /// How many requests of this method (any, where it is empty) whose path holds `path` were handed on.
    pub(crate) fn forwarded(&self, method: &str, path: &str) -> usize {
        let is_meant =
            |(of, at): &&(String, String)| (method.is_empty() || of == method) && at.contains(path);
        self.shared.lock().unwrap().forwarded.iter().filter(is_meant).count()
    }

    /// The heads of all requests that came, as they came.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.shared.lock().unwrap().heads.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().map(JoinHandle::join);
    }
}

/// An address where connections are refused for as long as the socket lives.
pub(crate) fn nobody() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

async fn serve(listener: TcpListener, upstream: SocketAddr, shared: Arc<Mutex<Shared>>) {
    // Dropped with this, and the connections with it.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let shared = shared.clone();
        connections.spawn(async move {
            // Either side may go at any time.
            connection(client, upstream, &shared).await.ok();
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(client: TcpStream, upstream: SocketAddr, shared: &Mutex<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    let head = head(&mut client).await?;
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let fault = note(shared, method, path, &head);
    let request = Request { head: &head, method, path };
    match fault {
        Some(Fault::Reset) => client.into_inner().set_zero_linger(),
        Some(Fault::ResetInRequest) => {
            body(&mut client, &head, None, true).await?;
            client.into_inner().set_zero_linger()
        }
        Some(Fault::Hang) => {
            let mended = shared.lock().unwrap().mended.clone();
            let mut nowhere = tokio::io::sink();
            // Until the client has enough.
            tokio::select! {
                gone = tokio::io::copy(&mut client, &mut nowhere) => gone.map(drop),
                () = mended.notified() => Ok(()),
            }
        }
        Some(Fault::Answer(status, headers, text)) => {
            body(&mut client, &head, None, false).await?;
            let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            answer(client.into_inner(), &format!("HTTP/1.1 {status} Fault\r\n{lines}"), text.as_bytes()).await
        }
        Some(Fault::Redirect(status, to)) => {
            body(&mut client, &head, None, false).await?;
            answer(client.into_inner(), &format!("HTTP/1.1 {status} Fault\r\nLocation: {to}\r\n"), b"").await
        }
        fault => {
            let (lines, text) = forward(&mut client, upstream, shared, &request).await?;
            done(client.into_inner(), fault, lines, &text).await
        }
    }
}

struct Request<'a> {
    head: &'a str,
    method: &'a str,
    path: &'a str,
}

/// What goes wrong with this request, which is noted.
fn note(shared: &Mutex<Shared>, method: &str, path: &str, head: &str) -> Option<Fault> {
    let mut shared = shared.lock().unwrap();
    shared.heads.push(head.to_owned());
    let is_meant = |rule: &&mut Rule| {
        rule.left > 0 && (rule.method.is_empty() || rule.method == method) && path.contains(&rule.path)
    };
    let rule = shared.rules.iter_mut().find(is_meant)?;
    rule.left -= 1;
    Some(rule.fault.clone())
}

/// Hands a request on; the head of the answer, without what says how long its body is, and the body.
async fn forward(
    client: &mut BufReader<TcpStream>,
    upstream: SocketAddr,
    shared: &Mutex<Shared>,
    request: &Request<'_>,
) -> io::Result<(String, Vec<u8>)> {
    let mut server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    server.write_all(without(request.head, &["connection"]).as_bytes()).await?;
    server.write_all(b"Connection: close\r\n\r\n").await?;
    let mut server = BufReader::new(server);
    // An answer that comes before the end of the request is an answer, too.
    body(client, request.head, Some(&mut server), false).await.ok();
    shared.lock().unwrap().forwarded.push((request.method.to_owned(), request.path.to_owned()));
    let lines = head(&mut server).await?;
    let mut rest = Vec::new();
    server.read_to_end(&mut rest).await?;
    // An answer to HEAD tells the length of a body that it has not.
    let told: &[&str] =
        if request.method == "HEAD" { &["connection"] } else { &["connection", "content-length"] };
    Ok((without(&lines, told), rest))
}

/// Sends an answer in full, or what the fault makes of it.
async fn done(mut client: TcpStream, fault: Option<Fault>, lines: String, text: &[u8]) -> io::Result<()> {
    let length = match header(&lines, "content-length") {
        Some(_) => "Connection: close\r\n\r\n".to_owned(),
        None => format!("Content-Length: {}\r\nConnection: close\r\n\r\n", text.len()),
    };
    match fault {
        Some(Fault::Lost) => Ok(()),
        Some(Fault::Truncated) => answer(client, &lines, &text[..text.len() / 2]).await,
        Some(Fault::WrongType) => {
            let lines = without(&lines, &["content-type"]);
            answer(client, &format!("{lines}Content-Type: text/html\r\n"), text).await
        }
        Some(Fault::ResetInAnswer) => {
            client.write_all(format!("{lines}{length}").as_bytes()).await?;
            client.write_all(&text[..text.len() / 2]).await?;
            // What was sent shall arrive, and not be dropped with the reset.
            tokio::time::sleep(Duration::from_millis(50)).await;
            client.set_zero_linger()
        }
        Some(Fault::Slow(pause)) => {
            client.write_all(format!("{lines}{length}").as_bytes()).await?;
            for piece in text.chunks(text.len().div_ceil(10).max(1)) {
                tokio::time::sleep(pause).await;
                client.write_all(piece).await?;
            }
            client.shutdown().await
        }
        _ => answer(client, &lines, text).await,
    }
}

async fn answer(mut client: TcpStream, lines: &str, text: &[u8]) -> io::Result<()> {
    let length = if lines.starts_with("HTTP/1.1 204") || header(lines, "content-length").is_some() {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", text.len())
    };
    client.write_all(format!("{lines}{length}Connection: close\r\n\r\n").as_bytes()).await?;
    client.write_all(text).await?;
    client.shutdown().await
}

/// The first line and the header, without the empty line behind them.
async fn head(from: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let start = head.len();
        if from.read_line(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if &head[start..] == "\r\n" {
            head.truncate(start);
            return Ok(head);
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// The head without some of its header's lines.
fn without(head: &str, names: &[&str]) -> String {
    let is_kept = |line: &&str| {
        let name = line.split_once(':').map_or("", |(name, _)| name);
        !names.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    head.split_inclusive("\r\n").filter(is_kept).collect()
}

/// Reads the body of a request, or only `half` of it, and hands it on.
async fn body(
    from: &mut BufReader<TcpStream>,
    head: &str,
    mut to: Option<&mut BufReader<TcpStream>>,
    half: bool,
) -> io::Result<()> {
    if header(head, "transfer-encoding").is_some() {
        return chunks(from, to, half).await;
    }
    let length: usize = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut left = if half { length / 2 } else { length };
    let mut piece = vec![0; 1 << 16];
    while left > 0 {
        let most = left.min(piece.len());
        let read = from.read(&mut piece[..most]).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= read;
        if let Some(to) = &mut to {
            to.write_all(&piece[..read]).await?;
        }
    }
    Ok(())
}

async fn chunks(
    from: &mut BufReader<TcpStream>,
    mut to: Option<&mut BufReader<TcpStream>>,
    half: bool,
) -> io::Result<()> {
    loop {
        let mut line = String::new();
        from.read_line(&mut line).await?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let mut piece = vec![0; length + 2];
        from.read_exact(&mut piece).await?;
        if let Some(to) = &mut to {
            to.write_all(line.as_bytes()).await?;
            to.write_all(&piece).await?;
        }
        if length == 0 || half {
            return Ok(());
        }
    }
}
