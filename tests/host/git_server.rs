//! Repositories over HTTP: git's own server program, behind as much of an HTTP server as it needs. Repositories whose names
//! begin with `private` need credentials, which nobody has.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;

/// The server; it ends with the process.
pub(super) struct GitServer {
    address: SocketAddr,
    root: TempDir,
}

/// A repository of the server, and a clone of it that commits are made in.
pub(super) struct Repository {
    pub(super) clone: PathBuf,
    pub(super) url: String,
}

impl GitServer {
    pub(super) fn start() -> Self {
        let root = TempDir::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, directory) = (listener.local_addr().unwrap(), root.path().join("served"));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let directory = directory.clone();
                thread::spawn(move || answer(stream, &directory));
            }
        });
        Self { address, root }
    }

    /// Adds a repository without commits.
    pub(super) fn repository(&self, name: &str) -> Repository {
        let served = self.root.path().join("served").join(name);
        let clone = self.root.path().join(name);
        git(self.root.path(), &["init", "-q", "--bare", served.to_str().unwrap()]);
        git(self.root.path(), &["init", "-q", "-b", "main", clone.to_str().unwrap()]);
        git(&clone, &["remote", "add", "origin", served.to_str().unwrap()]);
        Repository { clone, url: format!("http://{}/{name}", self.address) }
    }
}

impl Repository {
    /// Commits all files, and pushes them as a branch or a tag; returns the commit.
    pub(super) fn push(&self, reference: &str) -> String {
        git(&self.clone, &["add", "-A"]);
        git(&self.clone, &["commit", "-q", "--allow-empty", "-m", "change"]);
        git(&self.clone, &["push", "-q", "origin", &format!("HEAD:{reference}")]);
        git(&self.clone, &["rev-parse", "HEAD"])
    }
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=test", "-c", "user.email=test@example.com"]).args(arguments);
    let output = git.current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Answers one request, and closes the connection.
fn answer(mut stream: TcpStream, root: &Path) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    if path.starts_with("/private") {
        let refused = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\
                       Connection: close\r\n\r\n";
        return stream.write_all(refused.as_bytes()).ok();
    }
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    backend.stdin.take()?.write_all(&body).ok()?;
    let mut said = Vec::new();
    backend.stdout.take()?.read_to_end(&mut said).ok()?;
    backend.wait().ok()?;
    let end = said.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&said[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let length = said.len() - end - 4;
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
        .ok()?;
    stream.write_all(&said[end + 4..]).ok()
}
