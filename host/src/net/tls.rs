//! TLS for the listeners: a certificate and its key, from files that are read again when they change.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{InconsistentKeys, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use agentcli::project;

use crate::lock::lock;

/// The only protocol that both listeners speak.
const ALPN: &[u8] = b"http/1.1";

/// The scheme of URLs of a listener.
pub(crate) fn scheme(tls: Option<&Tls>) -> &'static str {
    if tls.is_some() { "https" } else { "http" }
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the {what} `{}`: {reason}", .path.display())]
pub struct TlsError {
    /// `certificate` or `key`.
    what: &'static str,
    path: PathBuf,
    reason: String,
    hint: Option<&'static str>,
}

impl TlsError {
    /// The next step for the user.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

/// A certificate and its key. New connections get those that are in the files; while these cannot be used, those before.
#[derive(Clone)]
pub struct Tls(Arc<Files>);

struct Files {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    /// Of the last attempt to read the files.
    version: Version,
    config: Arc<ServerConfig>,
}

/// Time and size of both files.
type Version = [Option<(SystemTime, u64)>; 2];

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.0.certificate).finish()
    }
}

impl Tls {
    /// Reads a certificate, followed by the intermediate ones, and its key, all in PEM format.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or has something else.
    pub fn load(certificate: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        let version = version(&certificate, &key);
        let config = read(&certificate, &key)?;
        let current = Mutex::new(Current { version, config });
        Ok(Self(Arc::new(Files { certificate, key, current })))
    }

    /// The handshake of a new connection.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.0.config()).accept(stream).await
    }
}

impl Files {
    /// The configuration, from the files if they changed: to ask for their time costs less than a handshake.
    fn config(&self) -> Arc<ServerConfig> {
        let mut current = lock(&self.current);
        let version = version(&self.certificate, &self.key);
        if version != current.version {
            current.version = version;
            match read(&self.certificate, &self.key) {
                Ok(config) => current.config = config,
                // One of the files may not be renewed yet. Stderr may be closed.
                Err(error) => {
                    writeln!(io::stderr(), "note: keeping the previous certificate: {error}").ok();
                }
            }
        }
        current.config.clone()
    }
}

fn version(certificate: &Path, key: &Path) -> Version {
    [certificate, key].map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let certified = certified(&provider, certificate, key)?;
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| wrong("certificate", certificate)(error.to_string()))?;
    let resolver = Arc::new(SingleCertAndKey::from(certified));
    let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

fn certified(provider: &CryptoProvider, certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let text = contents("certificate", certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.unwrap_or_default();
    if chain.is_empty() {
        return Err(wrong("certificate", certificate)("it has no certificate in PEM format".to_owned()));
    }
    let certified = CertifiedKey::new(
        chain,
        provider.key_provider.load_private_key(private_key(key)?).map_err(|_| {
            wrong("key", key)(
                "its kind is not supported; use RSA, ECDSA with P-256 or P-384, or Ed25519".to_owned(),
            )
        })?,
    );
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(rustls::Error::InconsistentKeys(_)) => {
            let reason = format!("it is not the key of the certificate `{}`", certificate.display());
            Err(wrong("key", key)(reason))
        }
        Err(_) => Err(wrong("certificate", certificate)("its first certificate is damaged".to_owned())),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = contents("key", path)?;
    if text.windows(9).any(|part| part == b"ENCRYPTED") {
        let hint = Some("decrypt it with `openssl pkey -in KEY -out NEW`");
        return Err(TlsError { hint, ..wrong("key", path)("it is encrypted".to_owned()) });
    }
    let key = PrivateKeyDer::from_pem_slice(&text);
    key.map_err(|_| wrong("key", path)("it has no private key in PEM format".to_owned()))
}

fn contents(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| wrong(what, path)(project::reason(&error)))
}

fn wrong(what: &'static str, path: &Path) -> impl Fn(String) -> TlsError {
    let path = path.to_owned();
    move |reason| TlsError { what, path: path.clone(), reason, hint: None }
}
