//! Host names: how a request names its deployment.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use url::Url;

/// The longest host name in DNS.
const MAX_LENGTH: usize = 253;

/// A host name in lower case, without port and trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

/// A host is missing, ambiguous or not a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid host: expected a name such as `app.example.com`, with or without a port")]
pub struct InvalidHost;

impl HostName {
    /// Parses a host with or without a port, as in a Host header: a DNS name or an IP address.
    pub fn parse(text: &str) -> Result<Self, InvalidHost> {
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => {
                let address: Ipv6Addr = address.parse().map_err(|_| InvalidHost)?;
                (format!("[{address}]"), port)
            }
            None => {
                let at = text.find(':').unwrap_or(text.len());
                (dns_name(&text[..at])?, &text[at..])
            }
        };
        // RFC 3986 allows an empty port.
        let is_port = port.is_empty()
            || port.strip_prefix(':').is_some_and(|digits| digits.is_empty() || is_number(digits));
        is_port.then_some(Self(name)).ok_or(InvalidHost)
    }

    /// The host of an http or https URL. Names in other alphabets are those that DNS has for them.
    pub fn of_url(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()))?;
        Self::parse(url.host_str()?).ok()
    }

    /// The address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        let ip: IpAddr = self.0.trim_matches(['[', ']']).parse().ok()?;
        Some(ip.to_canonical())
    }

    /// Returns the host that a request is for, and the Host header to forward: the authority of an absolute-form target
    /// takes precedence over the header (RFC 9112, section 3.2.2).
    pub(crate) fn of(request: &Parts) -> Result<(Self, HeaderValue), InvalidHost> {
        let mut headers = request.headers.get_all(HOST).iter();
        let header = headers.next();
        if headers.next().is_some() {
            return Err(InvalidHost);
        }
        let value = match request.uri.authority() {
            Some(authority) => HeaderValue::from_str(authority.as_str()).map_err(|_| InvalidHost)?,
            None => header.cloned().ok_or(InvalidHost)?,
        };
        let name = Self::parse(value.to_str().map_err(|_| InvalidHost)?)?;
        Ok((name, value))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn dns_name(text: &str) -> Result<String, InvalidHost> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_allowed);
    let is_name = name.len() <= MAX_LENGTH && name.split('.').all(is_label);
    is_name.then(|| name.to_ascii_lowercase()).ok_or(InvalidHost)
}

fn is_number(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_digit()) && digits.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_names() {
        let cases = [
            ("hello.localhost", Some("hello.localhost")),
            ("hello.localhost:8980", Some("hello.localhost")),
            ("HELLO.LocalHost:8980", Some("hello.localhost")),
            ("hello.localhost.", Some("hello.localhost")),
            ("hello.localhost.:8980", Some("hello.localhost")),
            ("hello.localhost:", Some("hello.localhost")),
            ("my_app-1.example.com", Some("my_app-1.example.com")),
            ("127.0.0.1:8980", Some("127.0.0.1")),
            ("[::1]:8980", Some("[::1]")),
            ("[0:0:0:0:0:0:0:1]", Some("[::1]")),
            ("", None),
            (".", None),
            (":8980", None),
            ("a..b", None),
            (".a", None),
            ("a..", None),
            ("a:b", None),
            ("a:1:2", None),
            ("a:65536", None),
            ("a:+1", None),
            ("user@a", None),
            ("a/b", None),
            ("a b", None),
            ("a,b", None),
            ("[::1", None),
            ("[a]", None),
            ("[::1]x", None),
            ("ä.localhost", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|name| HostName(name.to_owned())).ok_or(InvalidHost);
            assert_eq!(HostName::parse(text), expected, "{text:?}");
        }
        assert_eq!(HostName::parse(&"a".repeat(254)), Err(InvalidHost));
    }

    #[test]
    fn hosts_of_urls_are_compared_as_hosts() {
        let host = HostName::of_url("https://bücher.example").unwrap();
        for url in [
            "http://xn--bcher-kva.example",
            "https://BÜCHER.example./",
            "https://bücher.example:8443/path?query#part",
            "https://user@xn--BCHER-KVA.example:443",
        ] {
            assert_eq!(HostName::of_url(url).as_ref(), Some(&host), "{url}");
        }
        assert_eq!(HostName::of_url("http://0x7f.1:8900").unwrap().ip(), Some([127, 0, 0, 1].into()));
        assert_eq!(HostName::of_url("http://[::ffff:127.0.0.1]").unwrap().ip(), Some([127, 0, 0, 1].into()));
        for url in
            ["bücher.example", "ftp://a.example", "https://a..b", "https://", "https://a.example..", "data:x"]
        {
            assert_eq!(HostName::of_url(url), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_normalises_once(text in ".{0,40}") {
            if let Ok(name) = HostName::parse(&text) {
                prop_assert_eq!(HostName::parse(&name.to_string()), Ok(name));
            }
        }

        #[test]
        fn case_port_and_trailing_dot_do_not_matter(
            labels in proptest::collection::vec("[a-z0-9_-]{1,12}", 1..5),
            port in proptest::option::of(any::<u16>()),
            dot in any::<bool>(),
            upper in any::<bool>(),
        ) {
            let plain = labels.join(".");
            let mut text = if upper { plain.to_uppercase() } else { plain.clone() };
            text.push_str(if dot { "." } else { "" });
            if let Some(port) = port {
                text.push_str(&format!(":{port}"));
            }
            prop_assert_eq!(HostName::parse(&text), Ok(HostName(plain)));
        }
    }
}
