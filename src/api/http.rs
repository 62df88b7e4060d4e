//! The HTTP client of the program.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::failure::{self, innermost};
use super::time;

pub use reqwest::{
    Body, Client, ClientBuilder, Error, Method, RequestBuilder, Response, Result, StatusCode, Url, header,
    redirect,
};

/// A builder of clients.
pub fn builder() -> ClientBuilder {
    // It may be installed already.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder()
}

/// A builder of clients of the server of `url`. One on this machine is reached without a proxy, and without looking up its
/// name: few systems know those such as `my-agent.localhost`.
pub fn builder_for(url: &Url) -> ClientBuilder {
    let builder = builder().user_agent(concat!("agentcli/", env!("CARGO_PKG_VERSION")));
    if !is_loopback(url) {
        return builder;
    }
    let builder = builder.no_proxy();
    // The port is that of the URL.
    let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
    match url.host_str().filter(|host| is_localhost(host)) {
        Some(name) => builder.resolve_to_addrs(name, &addresses),
        None => builder,
    }
}

/// Builds a client. The error is a fragment: mostly that there are no certificates of authorities.
pub fn build(builder: ClientBuilder) -> std::result::Result<Client, String> {
    builder.build().map_err(|error| {
        let reason = innermost(&error);
        // rustls calls every other error unexpected.
        let reason = reason.strip_prefix("unexpected error: ").unwrap_or(&reason);
        reason.replacen("No CA", "no CA", 1)
    })
}

/// The body of a response; `None` if it is larger than `limit` bytes.
///
/// # Errors
///
/// The connection broke or took too long.
pub async fn body_up_to(limit: usize, mut response: Response) -> Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// Why a request failed, as a fragment without addresses.
pub fn reason(error: &Error) -> String {
    innermost(error)
}

/// Why there is no secure connection to a server that has one, as a fragment; `None` if the request failed otherwise.
pub fn certificate_error(error: &Error) -> Option<String> {
    failure::tls_error(error).filter(|reason| reason.contains("certificate"))
}

/// The pause that a response asks for before the next attempt.
pub fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    let asked = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    failure::retry_after(asked, time::now())
}

/// Whether the server of `url` is on this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    is_localhost(host) || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether `host` is a name of this machine.
/// Source: RFC 6761, section 6.3.
fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}
