//! A connection of its own to the engine, for requests that bollard does not make.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::connect::{TCP_PORT, TLS_PORT, with_port};
use super::endpoint::Endpoint;
use super::local;

/// A connection of any kind.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

impl Endpoint {
    /// Connects to the engine.
    pub(super) async fn stream(&self) -> io::Result<Box<dyn Connection>> {
        let (scheme, address) = self.host.split_once("://").unwrap_or((local::SCHEME, &self.host));
        match &self.certificates {
            _ if scheme == local::SCHEME => Ok(Box::new(local::connect(Path::new(address)).await?)),
            None => Ok(Box::new(TcpStream::connect(with_port(address, TCP_PORT)).await?)),
            Some(directory) => {
                let address = with_port(address, TLS_PORT);
                let host = address.rsplit_once(':').map_or(&*address, |(host, _)| host);
                let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
                let name = name.map_err(io::Error::other)?;
                let connector = TlsConnector::from(Arc::new(tls(directory).map_err(io::Error::other)?));
                Ok(Box::new(connector.connect(name, TcpStream::connect(&address).await?).await?))
            }
        }
    }
}

/// The certificates of Docker's directory.
fn tls(directory: &Path) -> Result<ClientConfig, Box<dyn std::error::Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(directory.join("ca.pem"))? {
        roots.add(certificate?)?;
    }
    let own: Result<Vec<_>, _> = CertificateDer::pem_file_iter(directory.join("cert.pem"))?.collect();
    let key = PrivateKeyDer::from_pem_file(directory.join("key.pem"))?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_root_certificates(roots);
    Ok(config.with_client_auth_cert(own?, key)?)
}
