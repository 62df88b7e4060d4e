//! TLS of the API: real certificates, and a client that checks them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use agentcli_host::Tls;
use rcgen::{CertificateParams, KeyPair};
use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::service::{Host, KEY, PATIENCE};

/// Self-signed certificates for 127.0.0.1 and localhost, each with its key.
pub(super) struct Certificates(pub(super) TempDir);

impl Certificates {
    pub(super) fn new() -> Self {
        let made = Self(TempDir::new().unwrap());
        made.make("cert.pem", "key.pem");
        made
    }

    /// Makes another pair.
    pub(super) fn make(&self, certificate: &str, key: &str) {
        let pair = KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = CertificateParams::new(names).unwrap().self_signed(&pair).unwrap();
        fs::write(self.path(certificate), made.pem()).unwrap();
        fs::write(self.path(key), pair.serialize_pem()).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn tls(&self) -> Tls {
        Tls::load(self.path("cert.pem"), self.path("key.pem")).unwrap()
    }

    /// Asks for the deployments; trusts this certificate only.
    fn get(&self, url: &str, certificate: &str) -> reqwest::Result<Value> {
        rustls::crypto::ring::default_provider().install_default().ok();
        let certificate = Certificate::from_pem(&fs::read(self.path(certificate)).unwrap()).unwrap();
        let client = Client::builder().no_proxy().tls_certs_only([certificate]).timeout(PATIENCE);
        let client = client.https_only(true).build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let answer = client.get(url).header("X-Api-Key", KEY).send().await?.error_for_status()?;
            Ok(serde_json::from_str(&answer.text().await?).unwrap())
        })
    }
}

/// All that the service sends until it closes the connection.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is not closed");
    }
    rest
}

#[test]
fn api_speaks_tls_and_nothing_else() {
    let certificates = Certificates::new();
    let host = Host::start(|options| options.tls = Some(certificates.tls()));
    let url = format!("https://{}/v2/deployments", host.address());
    assert_eq!(certificates.get(&url, "cert.pem").unwrap(), json!({ "resources": [], "offset": 0 }));
    // Also by name.
    let named = url.replace("127.0.0.1", "localhost");
    certificates.get(&named, "cert.pem").unwrap();
    certificates.make("other.pem", "other-key.pem");
    assert!(certificates.get(&url, "other.pem").is_err(), "another certificate is trusted");
    let mut stream = TcpStream::connect(host.address()).unwrap();
    stream.write_all(b"GET /v2/deployments HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(!String::from_utf8_lossy(&rest(stream)).contains("HTTP"));
}

#[test]
fn unfinished_handshakes_are_closed() {
    let certificates = Certificates::new();
    let host = Host::start(|options| {
        options.tls = Some(certificates.tls());
        options.limits.header = Duration::from_secs(3);
        options.limits.connections = 2;
    });
    // The first bytes of a handshake, or none.
    let silent: Vec<_> = [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b""]
        .map(|bytes| {
            let mut stream = TcpStream::connect(host.address()).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        })
        .into();
    // They hold both permits until then.
    let url = format!("https://{}/v2/deployments", host.address());
    certificates.get(&url, "cert.pem").unwrap();
    silent.into_iter().for_each(|stream| _ = rest(stream));
}

#[test]
fn renewed_certificate_is_used_at_once() {
    let certificates = Certificates::new();
    let host = Host::start(|options| options.tls = Some(certificates.tls()));
    let url = format!("https://{}/v2/deployments", host.address());
    certificates.make("new.pem", "new-key.pem");
    certificates.get(&url, "cert.pem").unwrap();
    // Between the two, the certificate and the key do not match.
    fs::copy(certificates.path("cert.pem"), certificates.path("old.pem")).unwrap();
    fs::copy(certificates.path("new.pem"), certificates.path("cert.pem")).unwrap();
    certificates.get(&url, "old.pem").unwrap();
    fs::copy(certificates.path("new-key.pem"), certificates.path("key.pem")).unwrap();
    certificates.get(&url, "new.pem").unwrap();
    assert!(certificates.get(&url, "old.pem").is_err(), "the old certificate is shown");
    fs::write(certificates.path("key.pem"), "not a key").unwrap();
    certificates.get(&url, "new.pem").unwrap();
    fs::remove_file(certificates.path("cert.pem")).unwrap();
    certificates.get(&url, "new.pem").unwrap();
}

#[test]
fn urls_are_https() {
    let certificates = Certificates::new();
    let host = Host::start(|options| options.tls = Some(certificates.tls()));
    let url = format!("https://{}", host.address());
    rustls::crypto::ring::default_provider().install_default().ok();
    let certificate = Certificate::from_pem(&fs::read(certificates.path("cert.pem")).unwrap()).unwrap();
    let client = Client::builder().no_proxy().tls_certs_only([certificate]).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let post = async |path: String, body: Value| {
        let request = client.post(format!("{url}{path}")).header("X-Api-Key", KEY);
        let request = request.header("Content-Type", "application/json").body(body.to_string());
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    runtime.block_on(async {
        let made = post("/v2/deployments".to_owned(), super::creation("app")).await;
        let shown = made["source_config"]["custom_url"].as_str().unwrap();
        assert!(shown.starts_with("https://app.localhost:"), "{made}");
        let path = format!("/v2/deployments/{}/upload-url", made["id"].as_str().unwrap());
        let upload = post(path, json!({})).await;
        assert!(upload["upload_url"].as_str().unwrap().starts_with(&url), "{upload}");
    });
}
