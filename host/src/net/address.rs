//! Addresses of the internet, and those of this machine and its network, which requests of tenants must not reach.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Whether a name is that of this machine, in whichever case.
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether an address belongs to the internet: it is not one of this machine, of a private network, or of a link.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            let [first, second, .., high, low] = address.segments();
            let embedded = |high: u16, low: u16| {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                is_public_v4(Ipv4Addr::new(a, b, c, d))
            };
            match (first, second) {
                // Translated to IPv4, by NAT64 and 6to4.
                (0x64, 0xff9b) => embedded(high, low),
                (0x2002, _) => embedded(second, address.segments()[2]),
                // Documentation and benchmarks.
                (0x2001, 0xdb8 | 0x2) => false,
                // Global unicast is 2000::/3.
                _ => first & 0xe000 == 0x2000,
            }
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = a == 0 || a >= 240 || (a == 192 && b == 0 && c == 0) || (a == 198 && b & 0xfe == 18);
    // The shared address space of carriers, RFC 6598.
    let is_shared = a == 100 && b & 0xc0 == 64;
    !(is_reserved
        || is_shared
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation())
}

/// A message of the engine without the addresses of its network, such as that of its name server: tenants read it.
pub(crate) fn hidden(text: &str) -> String {
    const NAME_SERVER: u16 = 53;
    let is_hidden = |word: &str| {
        let word = word.trim_end_matches(':');
        let parsed = word.parse::<SocketAddr>().map(|it| (it.ip(), it.port()));
        let parsed = parsed.or_else(|_| word.parse::<IpAddr>().map(|address| (address, 0)));
        parsed.is_ok_and(|(address, port)| port == NAME_SERVER || !is_public(address))
    };
    let ends = |c: char| c.is_whitespace() || matches!(c, '>' | '(' | ')' | ',' | '"' | '\'' | '/');
    let parts = text.split_inclusive(ends).map(|part| {
        // `A->B` is how Go writes a connection.
        let end = part.trim_end_matches(ends).trim_end_matches('-').len();
        let (word, rest) = part.split_at(end);
        if is_hidden(word) { format!("an address of the service{rest}") } else { part.to_owned() }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_its_network_are_not_public() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in
            ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        assert!(
            is_localhost("LOCALHOST.") && is_localhost("a.localhost") && !is_localhost("localhost.example")
        );
    }

    #[test]
    fn messages_of_the_engine_have_no_addresses_of_its_network() {
        for (text, expected) in [
            (
                "dial tcp: lookup a.example on 10.0.0.2:53: no such host",
                "dial tcp: lookup a.example on an address of the service no such host",
            ),
            ("lookup a on [fd00::1]:53: no", "lookup a on an address of the service no"),
            (
                "read udp 172.17.0.2:4000->8.8.8.8:53: i/o timeout",
                "read udp an address of the service->an address of the service i/o timeout",
            ),
            (
                "proxyconnect tcp: http://192.168.0.7:3128/",
                "proxyconnect tcp: http://an address of the service/",
            ),
            ("dial tcp 8.8.8.8:443: refused", "dial tcp 8.8.8.8:443: refused"),
            ("pip 24.0 at 12:30: version 1.2.3.4.5", "pip 24.0 at 12:30: version 1.2.3.4.5"),
        ] {
            assert_eq!(hidden(text), expected);
        }
    }
}
