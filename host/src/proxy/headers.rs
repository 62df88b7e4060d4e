//! Headers of one connection only, and the headers that tell a backend about the client.

use std::net::IpAddr;

use hyper::HeaderMap;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, FORWARDED, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};

/// Headers of one connection (RFC 9110, section 7.6.1), besides those that the Connection header names.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The client as a backend learns of it.
pub(super) struct Client {
    pub(super) address: IpAddr,
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    /// The Host header that the client sent.
    pub(super) host: HeaderValue,
}

/// Makes the headers of a client's request those of the request to a backend.
///
/// Forwarding headers of the client are replaced, not extended: they could be forged.
pub(super) fn to_backend(headers: &mut HeaderMap, client: &Client) {
    let wants_trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    let protocol = upgrade(headers);
    to_client(headers, protocol);
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    headers.insert(HOST, client.host.clone());
    headers.insert("x-forwarded-host", client.host.clone());
    headers.insert("x-forwarded-proto", HeaderValue::from_static(client.scheme));
    headers.remove("x-forwarded-port");
    headers.remove("x-real-ip");
    // An address and a checked host are valid header values.
    if let Ok(value) = HeaderValue::from_str(&client.address.to_string()) {
        headers.insert("x-forwarded-for", value);
    }
    if let Ok(value) = HeaderValue::from_str(&forwarded(client)) {
        headers.insert(FORWARDED, value);
    }
}

/// Removes the headers of the backend's connection from its response, and announces an upgrade to `protocol`.
pub(super) fn to_client(headers: &mut HeaderMap, protocol: Option<HeaderValue>) {
    if headers.contains_key(TRANSFER_ENCODING) {
        // The encoding took precedence (RFC 9112, section 6.3); the next reader must not see another length.
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> =
        tokens(headers, &CONNECTION).filter_map(|token| token.parse().ok()).collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

/// The protocol that a request or response upgrades to. HTTP/2 is left out: requests in it would bypass the proxy.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_announced = tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    let is_http2 = tokens(headers, &UPGRADE).any(|token| token.eq_ignore_ascii_case("h2c"));
    headers.get(UPGRADE).filter(|_| is_announced && !is_http2).cloned()
}

/// The elements of a comma-separated header.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// The value of the Forwarded header (RFC 7239).
fn forwarded(client: &Client) -> String {
    let address = match client.address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("\"[{address}]\""),
    };
    let host = client.host.to_str().unwrap_or_default();
    format!("for={address};host=\"{host}\";proto={}", client.scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn client(address: &str) -> Client {
        let address = address.parse().unwrap();
        Client { address, scheme: "http", host: HeaderValue::from_static("a.localhost:1") }
    }

    #[test]
    fn backend_gets_no_header_of_the_client_connection() {
        let mut map = headers(&[
            ("accept", "*/*"),
            ("authorization", "Bearer x"),
            ("connection", "keep-alive, X-Private"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers, deflate"),
            ("trailer", "checksum"),
            ("transfer-encoding", "chunked"),
            ("x-private", "1"),
        ]);
        to_backend(&mut map, &client("127.0.0.1"));
        let expected = headers(&[
            ("accept", "*/*"),
            ("authorization", "Bearer x"),
            ("trailer", "checksum"),
            ("te", "trailers"),
            ("host", "a.localhost:1"),
            ("x-forwarded-host", "a.localhost:1"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-for", "127.0.0.1"),
            ("forwarded", "for=127.0.0.1;host=\"a.localhost:1\";proto=http"),
        ]);
        assert_eq!(map, expected);
    }

    #[test]
    fn forged_forwarding_headers_are_replaced() {
        let mut map = headers(&[
            ("connection", "host, x-forwarded-for"),
            ("forwarded", "for=10.0.0.1"),
            ("host", "b.localhost"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-for", "10.0.0.2"),
            ("x-forwarded-host", "evil"),
            ("x-forwarded-port", "1"),
            ("x-forwarded-proto", "https"),
            ("x-real-ip", "10.0.0.1"),
        ]);
        to_backend(&mut map, &client("::1"));
        let expected = headers(&[
            ("host", "a.localhost:1"),
            ("x-forwarded-host", "a.localhost:1"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-for", "::1"),
            ("forwarded", "for=\"[::1]\";host=\"a.localhost:1\";proto=http"),
        ]);
        assert_eq!(map, expected);
    }

    #[test]
    fn only_announced_upgrades_other_than_http2_are_forwarded() {
        let cases = [
            (&[("connection", "Keep-Alive, Upgrade"), ("upgrade", "websocket")][..], Some("websocket")),
            (&[("upgrade", "websocket")], None),
            (&[("connection", "upgrade")], None),
            (&[("connection", "Upgrade, HTTP2-Settings"), ("upgrade", "H2C")], None),
        ];
        for (pairs, expected) in cases {
            let map = headers(pairs);
            let protocol = upgrade(&map);
            assert_eq!(protocol, expected.map(HeaderValue::from_static), "{pairs:?}");
            let mut map = map;
            to_backend(&mut map, &client("::1"));
            assert_eq!(map.get(UPGRADE), protocol.as_ref(), "{pairs:?}");
            assert_eq!(map.contains_key(CONNECTION), protocol.is_some(), "{pairs:?}");
        }
    }
}
