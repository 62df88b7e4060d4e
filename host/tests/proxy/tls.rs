//! Streams and upgraded connections over TLS.

use std::fs;
use std::sync::Arc;

use agentcli_host::Tls;
use http_body_util::BodyExt as _;
use hyper::Method;
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::backend::{Backend, EVENTS};
use crate::client::Client;
use crate::{Running, soon, until};

/// A certificate for app.localhost.
fn certificate() -> TempDir {
    let directory = TempDir::new().unwrap();
    let pair = KeyPair::generate().unwrap();
    let made = CertificateParams::new(["app.localhost".to_owned()]).unwrap().self_signed(&pair).unwrap();
    fs::write(directory.path().join("cert.pem"), made.pem()).unwrap();
    fs::write(directory.path().join("key.pem"), pair.serialize_pem()).unwrap();
    directory
}

/// A connection to app.localhost, after its handshake.
async fn connect(proxy: &Running, certificate: &TempDir) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate.path().join("cert.pem")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(proxy.address).await.unwrap();
    let name = ServerName::try_from("app.localhost").unwrap();
    let stream = soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    stream
}

#[tokio::test]
async fn streams_and_upgraded_connections_pass_through_tls() {
    let certificate = certificate();
    let tls = Tls::load(certificate.path().join("cert.pem"), certificate.path().join("key.pem")).unwrap();
    let proxy = Running::start(|options| options.tls = Some(tls)).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);

    let mut client = Client::over(connect(&proxy, &certificate).await).await;
    let echo = client.send(Method::GET, "app.localhost", "/echo", &[], "").await.unwrap();
    assert!(echo.text.contains("x-forwarded-proto: https"), "{}", echo.text);
    let mut body = client.stream(Method::GET, "app.localhost", "/sse", &[], "").await.unwrap().into_body();
    let mut pieces = 0;
    while let Some(frame) = soon(body.frame()).await {
        pieces += usize::from(!frame.unwrap().into_data().unwrap().is_empty());
    }
    assert!(pieces > EVENTS / 2, "{EVENTS} events in {pieces} pieces");

    let mut stream = connect(&proxy, &certificate).await;
    let request = b"GET /ws HTTP/1.1\r\nHost: app.localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\nbackend") {
        read.push(soon(stream.read_u8()).await.unwrap());
    }
    stream.write_all(b"x").await.unwrap();
    assert_eq!(soon(stream.read_u8()).await.unwrap(), b'x');
    assert_eq!(proxy.routes.activity("app").unwrap().open, 1);
    drop(stream);
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
    proxy.stop().await;
}
