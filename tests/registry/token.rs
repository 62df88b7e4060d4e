//! Who hands out tokens for a registry. Unlike the services that public registries have for it, it knows one user, lets
//! them do whatever they ask for, and signs for a registry that was told its certificate.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{PASSWORD, USER};

/// The names of both sides in tokens.
pub(super) const ISSUER: &str = "tokens-of-the-tests";
pub(super) const SERVICE: &str = "registry-of-the-tests";

/// A service that hands out tokens; it ends with the process.
#[derive(Clone)]
pub(super) struct Tokens {
    /// Where to ask for one.
    pub(super) address: SocketAddr,
    /// Its certificate.
    pub(super) certificate: PathBuf,
    key: PathBuf,
}

impl Tokens {
    /// Starts one whose key lies in `directory`.
    pub(super) fn start(directory: &Path) -> Self {
        let (key, certificate) = (directory.join("token.key"), directory.join("token.crt"));
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tokens"])
            .args([Path::new("-keyout"), &key, Path::new("-out"), &certificate])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tokens = Self { address: listener.local_addr().unwrap(), certificate, key };
        let of_thread = tokens.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // Whoever asks may go at any time.
                of_thread.answer(stream).ok();
            }
        });
        tokens
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().unwrap_or(Ok(String::new()))?;
        let mut login = None;
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            let value = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            login = value.map(|(_, value)| value.to_owned()).or(login);
        }
        let is_let_in = login == Some(format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}"))));
        let url = reqwest::Url::parse(&format!(
            "http://{}{}",
            self.address,
            first.split(' ').nth(1).unwrap_or("/")
        ));
        let scopes = url.iter().flat_map(reqwest::Url::query_pairs).filter(|(name, _)| name == "scope");
        let scopes: Vec<String> = scopes.map(|(_, value)| value.into_owned()).collect();
        let (status, body) = if is_let_in {
            ("200 OK", json!({ "token": self.token(&scopes) }))
        } else {
            ("401 Unauthorized", json!({ "details": "incorrect username or password" }))
        };
        let body = body.to_string();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
    }

    /// A token for these scopes: `repository:NAME:ACTION,ACTION`.
    pub(super) fn token(&self, scopes: &[String]) -> String {
        let access = |scope: &String| -> Option<Value> {
            let (kind, rest) = scope.split_once(':')?;
            let (name, actions) = rest.rsplit_once(':')?;
            Some(json!({ "type": kind, "name": name, "actions": actions.split(',').collect::<Vec<_>>() }))
        };
        let pem = fs::read_to_string(&self.certificate).unwrap();
        let chain: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let header = json!({ "typ": "JWT", "alg": "RS256", "x5c": [chain] });
        let claims = json!({
            "iss": ISSUER, "sub": USER, "aud": SERVICE, "jti": "1",
            "iat": now - 60, "nbf": now - 60, "exp": now + 600,
            "access": scopes.iter().filter_map(access).collect::<Vec<_>>(),
        });
        let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(self.signature(&signed)))
    }

    fn signature(&self, text: &str) -> Vec<u8> {
        let mut child = Command::new("openssl")
            .args([Path::new("dgst"), Path::new("-sha256"), Path::new("-sign"), &self.key])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap().stdout
    }
}
