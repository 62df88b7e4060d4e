//! The OpenTelemetry collector of `--otlp`.

use crate::compiler::server::local;
use crate::engine::MACHINE;

/// The standard address on this machine.
pub const DEFAULT: &str = "http://127.0.0.1:4318";

/// Names of this machine for itself, which a container has for itself, too.
const LOOPBACK: &[&str] = &["127.0.0.1", "localhost", "[::1]"];

/// The address of a collector.
///
/// # Errors
///
/// The reason why it is none.
pub fn address(url: &str) -> Result<String, &'static str> {
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| url.strip_prefix(scheme).is_some_and(|it| !it.is_empty()));
    if is_url { Ok(url.to_owned()) } else { Err("it is no URL; write it as http://HOST:PORT") }
}

/// The variables with which a server sends its traces to the collector at this address, and nowhere else.
pub fn variables(address: &str) -> Vec<(String, String)> {
    let all = local::TRACES.into_iter().chain([(local::COLLECTOR, address)]);
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The same for a server in a container, which has another name for this machine.
pub fn variables_in_container(address: &str) -> Vec<(String, String)> {
    variables(&from_container(address).unwrap_or_else(|| address.to_owned()))
}

/// A URL whose host is this machine, as containers write it.
pub(super) fn from_container(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
    let name = LOOPBACK.iter().find(|name| {
        host.strip_prefix(**name).is_some_and(|port| port.is_empty() || port.starts_with(':'))
    })?;
    let port = &host[name.len()..];
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    Some(format!("{scheme}://{user}{MACHINE}{port}{}", &rest[authority.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_reaches_this_machine_by_another_name() {
        for (url, expected) in [
            ("http://127.0.0.1:4318", Some("http://host.docker.internal:4318")),
            ("redis://localhost", Some("redis://host.docker.internal")),
            ("postgres://a:b@localhost:5432/x?y", Some("postgres://a:b@host.docker.internal:5432/x?y")),
            ("http://[::1]:80/", Some("http://host.docker.internal:80/")),
            ("http://localhost.example/", None),
            ("http://a.example/?at=http://localhost", None),
            ("localhost", None),
        ] {
            assert_eq!(from_container(url).as_deref(), expected, "{url}");
        }
    }
}
