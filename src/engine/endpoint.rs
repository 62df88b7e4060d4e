//! The address of the engine, found as by the `docker` command: `DOCKER_HOST`, then the Docker context, then the
//! default sockets of engines.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::error::Error;
use super::local;

/// The environment variables that select and configure the engine.
#[derive(Clone, Debug, Default)]
pub struct EngineEnv {
    /// `DOCKER_HOST`.
    pub host: Option<String>,
    /// `DOCKER_CONTEXT`.
    pub context: Option<String>,
    /// Whether `DOCKER_TLS_VERIFY` is set and not empty.
    pub tls_verify: bool,
    /// `DOCKER_CERT_PATH`: the directory of ca.pem, cert.pem and key.pem.
    pub cert_path: Option<PathBuf>,
    /// The directory of Docker's `config.json`: `DOCKER_CONFIG`, else `~/.docker`.
    pub config: Option<PathBuf>,
    /// The cache directory of this program: `agentcli` in `XDG_CACHE_HOME`, `LOCALAPPDATA` or `~/.cache`.
    pub cache: Option<PathBuf>,
    /// `PATH`, which is searched for credential helpers.
    pub path: Option<OsString>,
    /// The sockets to try if no variable or Docker context selects an engine, in order of preference.
    pub sockets: Vec<PathBuf>,
}

/// An address and, for TLS, the directory of the certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) certificates: Option<PathBuf>,
}

impl EngineEnv {
    /// Reads the process environment through `lookup`.
    pub fn new(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().into_owned());
        let path = |name: &str| set(name).map(PathBuf::from);
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let caches =
            path("XDG_CACHE_HOME").or_else(|| path("LOCALAPPDATA")).filter(|path| path.is_absolute());
        let caches = caches.or_else(|| Some(home.as_ref()?.join(".cache")));
        Self {
            host: text("DOCKER_HOST"),
            context: text("DOCKER_CONTEXT"),
            tls_verify: set("DOCKER_TLS_VERIFY").is_some(),
            cert_path: path("DOCKER_CERT_PATH"),
            config: path("DOCKER_CONFIG").or_else(|| Some(home.as_ref()?.join(".docker"))),
            cache: caches.map(|directory| directory.join("agentcli")),
            path: set("PATH"),
            sockets: local::default_sockets(home.as_deref(), path("XDG_RUNTIME_DIR").as_deref()),
        }
    }

    /// The addresses to try, in order; there are several only if none is selected.
    pub(super) fn endpoints(&self) -> Result<Vec<Endpoint>, Error> {
        if let Some(host) = &self.host {
            return Ok(vec![self.named_host(host)]);
        }
        let context = self.current_context()?;
        if let Some(name) = context.filter(|name| name != "default") {
            return Ok(vec![self.named_context(&name)?]);
        }
        let host = |path: &PathBuf| format!("{}://{}", local::SCHEME, path.display());
        Ok(self.sockets.iter().map(|path| Endpoint { host: host(path), certificates: None }).collect())
    }

    fn named_host(&self, host: &str) -> Endpoint {
        let secure = self.tls_verify || host.starts_with("https://");
        let certificates = self.cert_path.clone().or_else(|| self.config.clone());
        Endpoint { host: host.to_owned(), certificates: certificates.filter(|_| secure) }
    }

    fn current_context(&self) -> Result<Option<String>, Error> {
        if self.context.is_some() {
            return Ok(self.context.clone());
        }
        let Some(directory) = &self.config else { return Ok(None) };
        let config: Value = read_json(&directory.join("config.json"))?.unwrap_or_default();
        Ok(config["currentContext"].as_str().filter(|name| !name.is_empty()).map(str::to_owned))
    }

    fn named_context(&self, name: &str) -> Result<Endpoint, Error> {
        let id = hex::encode(Sha256::digest(name));
        let contexts = self.config.clone().unwrap_or_default().join("contexts");
        let meta: Value = read_json(&contexts.join("meta").join(&id).join("meta.json"))?.unwrap_or_default();
        let Some(host) = meta["Endpoints"]["docker"]["Host"].as_str().filter(|host| !host.is_empty()) else {
            return Err(Error::NoContext { name: name.to_owned() });
        };
        let certificates = contexts.join("tls").join(&id).join("docker");
        Ok(Endpoint { host: host.to_owned(), certificates: Some(certificates).filter(|path| path.exists()) })
    }
}

/// Reads a file of Docker's; `None` if it does not exist.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let failed = |reason: String| Error::Config { path: path.to_owned(), reason };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(failed("permission denied".to_owned()));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    let value = serde_json::from_str(&text);
    // The message of the library may quote a value, which may be secret.
    let place = |error: serde_json::Error| format!("line {}, column {}", error.line(), error.column());
    value
        .map(Some)
        .map_err(|error| failed(format!("invalid JSON, or not the expected fields ({})", place(error))))
}
