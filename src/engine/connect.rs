//! Connecting to the engine.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::time::Duration;

use bollard::Docker;

use super::endpoint::{Endpoint, EngineEnv};
use super::error::Error;
use super::local;
use crate::compiler::secrecy::urls::masked;

/// Deadline of the ping.
const PING_DEADLINE: Duration = Duration::from_secs(5);

/// The default ports of engines, without and with TLS.
pub(super) const TCP_PORT: u16 = 2375;
pub(super) const TLS_PORT: u16 = 2376;

/// A container engine that has responded to a ping.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(super) docker: Docker,
    pub(super) endpoint: Endpoint,
    pub(super) env: EngineEnv,
}

impl Engine {
    /// Finds the engine that `env` selects, and pings it.
    ///
    /// # Errors
    ///
    /// No engine is found, it does not respond within 5 s, the user may not use it, the connection cannot be made secure,
    /// or the scheme of its address is not supported.
    pub async fn connect(env: &EngineEnv) -> Result<Self, Error> {
        Self::connect_within(env, PING_DEADLINE).await
    }

    /// The same with another deadline.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::connect`].
    pub async fn connect_within(env: &EngineEnv, deadline: Duration) -> Result<Self, Error> {
        let endpoints = env.endpoints()?;
        let is_only_one = endpoints.len() == 1;
        let mut tried = Vec::new();
        let mut failed = None;
        for endpoint in endpoints {
            match endpoint.ping(deadline).await {
                Ok(docker) => return Ok(Self { docker, endpoint, env: env.clone() }),
                Err(error) if is_only_one => return Err(error),
                Err(error @ (Error::Denied { .. } | Error::Timeout { .. })) => {
                    failed = failed.or(Some(error));
                }
                Err(_) => {}
            }
            tried.push(endpoint.host);
        }
        Err(failed.unwrap_or(Error::NoEngine { tried }))
    }

    /// Whether it is on this machine, and so are its ports and its files.
    pub fn is_here(&self) -> bool {
        self.endpoint.host.split_once("://").is_some_and(|(scheme, _)| scheme == local::SCHEME)
    }

    /// The engine's address, without a password.
    pub fn shown_host(&self) -> Cow<'_, str> {
        masked(&self.endpoint.host)
    }

    /// The engine's address, which may hold a password.
    pub fn host(&self) -> &str {
        &self.endpoint.host
    }

    /// The host that ports are published on, as in a URL, unless it is this machine.
    pub fn machine(&self) -> Option<&str> {
        machine(&self.endpoint.host)
    }

    /// The cache directory of this program, if there is one.
    pub fn cache(&self) -> Option<&Path> {
        self.env.cache.as_deref()
    }
}

impl Endpoint {
    async fn ping(&self, deadline: Duration) -> Result<Docker, Error> {
        let docker = self.open()?;
        let (host, what) = (self.host.clone(), "respond".to_owned());
        let late = |_| Error::Timeout { host, what, after: deadline };
        tokio::time::timeout(deadline, docker.ping())
            .await
            .map_err(late)?
            .map_err(|error| self.explain(&error))?;
        Ok(docker)
    }

    fn open(&self) -> Result<Docker, Error> {
        match (self.host.split_once("://"), &self.certificates) {
            (Some((local::SCHEME, _)), _) | (Some(("tcp" | "http", _)), None) => {}
            (Some(("tcp" | "http" | "https", _)), Some(directory)) => self.check_certificates(directory)?,
            (Some(("https", _)), None) => {
                return Err(self.tls("no certificates are configured".to_owned()));
            }
            (Some(("ssh", _)), _) => return Err(self.unsupported("connections over ssh are not supported")),
            _ => return Err(self.unsupported("unknown scheme")),
        }
        self.client().map_err(|error| self.explain(&error))
    }

    fn check_certificates(&self, directory: &Path) -> Result<(), Error> {
        let mut files = ["key.pem", "cert.pem", "ca.pem"].iter().map(|name| directory.join(name));
        match files.find(|path| !path.is_file()) {
            Some(missing) => Err(self.tls(format!("`{}` is missing", missing.display()))),
            None => Ok(()),
        }
    }

    /// The error of a failed ping.
    fn explain(&self, error: &bollard::errors::Error) -> Error {
        use bollard::errors::Error as Bollard;
        let host = self.host.clone();
        let unreachable = |reason: &str| Error::Unreachable { host: host.clone(), reason: reason.to_owned() };
        if let Bollard::DockerResponseServerError { status_code, .. } = error {
            return unreachable(&format!("it is not a container engine (status {status_code})"));
        }
        let cause = if let Bollard::IOError { err } = error { Some(err) } else { io_cause(error) };
        match cause.map(io::Error::kind) {
            Some(io::ErrorKind::PermissionDenied) => Error::Denied { host },
            Some(io::ErrorKind::ConnectionRefused) => unreachable("connection refused"),
            Some(io::ErrorKind::NotFound) => unreachable("no such socket"),
            _ if self.certificates.is_some() => self.tls(root_cause(error)),
            _ => unreachable(&root_cause(error)),
        }
    }

    fn tls(&self, reason: String) -> Error {
        Error::Tls { host: self.host.clone(), reason }
    }

    fn unsupported(&self, reason: &str) -> Error {
        Error::Unsupported { host: self.host.clone(), reason: reason.to_owned() }
    }
}

/// `address` with a port: the default port of HTTP would be wrong.
pub(super) fn with_port(address: &str, port: u16) -> String {
    let address = address.trim_end_matches('/');
    let named = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if named { address.to_owned() } else { format!("{address}:{port}") }
}

/// The host of an address, unless it is this machine.
fn machine(host: &str) -> Option<&str> {
    let (scheme, rest) = host.split_once("://")?;
    let authority = rest.split('/').next().unwrap_or(rest);
    let machine = match authority.find(']') {
        Some(end) if authority.starts_with('[') => &authority[..=end],
        _ => authority.split(':').next().unwrap_or(authority),
    };
    let is_local = ["", "localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"].contains(&machine);
    (["tcp", "http", "https"].contains(&scheme) && !is_local).then_some(machine)
}

fn io_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a io::Error> {
    causes(error).filter_map(|error| error.downcast_ref()).last()
}

/// The innermost reason, in lower case and without the operating system's number.
pub(super) fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let text = causes(error).last().map(ToString::to_string).unwrap_or_default();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The error and what caused it, the innermost last.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| (*error).source())
}

#[cfg(test)]
mod tests {
    use super::machine;

    #[test]
    fn the_machine_of_an_address() {
        for (host, expected) in [
            ("unix:///var/run/docker.sock", None),
            ("npipe:////./pipe/docker_engine", None),
            ("tcp://builder.example:2375", Some("builder.example")),
            ("tcp://builder.example", Some("builder.example")),
            ("https://10.0.0.7:2376/", Some("10.0.0.7")),
            ("http://[fd00::7]:2375", Some("[fd00::7]")),
            ("tcp://[::1]", None),
            ("tcp://localhost:2375", None),
            ("tcp://127.0.0.1:2375", None),
            ("tcp://:2375", None),
            ("tcp://0.0.0.0:2375", None),
            ("tcp://[::]:2375", None),
        ] {
            assert_eq!(machine(host), expected, "{host}");
        }
    }
}
