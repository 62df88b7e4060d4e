//! Which requests the server answers: those of programs, and of web pages that the user trusts. The rules are decided here;
//! `server/guard.py` and `server/guard.mjs` compare requests with them in the server's process, before its own code. They
//! serve the page, too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use url::{Host, Url};

use super::address::Address;
use super::session::Options;
use super::story;
use crate::compiler::server::local;

/// Compares the requests to servers in Node.js with the constant `rules`.
const NODE: &str = include_str!("server/guard.mjs");

/// Regular expressions, for Python and JavaScript, that match lower-case text as a whole. Names below `localhost` never
/// lead elsewhere. Addresses are safe: the name of a foreign page can lead here, but an address cannot stand for it.
const LOCALHOST: &str = r"(?:[a-z0-9_-]+\.)*localhost";
const IPV4: &str = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}";
const IPV6: &str = r"\[[0-9a-f:.]+\]";
const LOOPBACK: &str = r"127(?:\.[0-9]{1,3}){3}|\[::1\]";
/// Addresses that requests of this machine come from.
const PEERS: &str = r"(?:::ffff:)?127(?:\.[0-9]{1,3}){3}|::1";

/// What is reported of a refused request before and after its host or origin.
const NO_HOST: (&str, &str) =
    ("refused a request for the host", "use localhost or an IP address, or pass the name with --allow-host");
const NO_ORIGIN: (&str, &str) = (
    "refused a request from a page at",
    "to allow it, add it to `http.cors.allow_origins` in the configuration, or pass it with --studio-url if it is a studio",
);
const NULL_ORIGIN: (&str, &str) =
    ("refused a request from a page with the origin", "open the page from http://localhost, not from a file");

/// The end of the message about the studio's header where it is ignored.
const NOT_HERE: &str =
    "of a request that comes from another machine or through a tunnel; what `auth` asks for is needed there";

/// Origins that the configuration allows.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Configured {
    /// Exact ones; `*` is any.
    pub(super) origins: Vec<String>,
    /// A regular expression, in the language of the server.
    pub(super) pattern: Option<String>,
}

impl Configured {
    /// Those that the server gets as `cors`, and without a list there in its variable.
    pub(super) fn new(cors: Option<&Value>, variable: Option<&str>) -> Self {
        let listed = cors.and_then(|cors| cors["allow_origins"].as_array());
        let listed = listed.map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        let separate = |text: &str| text.split(',').map(|origin| origin.trim().to_owned()).collect();
        let pattern = cors.and_then(|cors| cors["allow_origin_regex"].as_str());
        Self {
            origins: listed.or_else(|| variable.map(separate)).unwrap_or_default(),
            pattern: pattern.filter(|pattern| !pattern.is_empty()).map(str::to_owned),
        }
    }
}

/// The rules for servers on these ports of this machine, and the `page` that they serve.
pub(super) fn rules(
    options: &Options,
    address: &Address,
    ports: &[u16],
    configured: Configured,
    page: Value,
) -> Value {
    let public = address.public.as_deref().and_then(|url| Url::parse(url).ok());
    let studio = Url::parse(&options.studio).ok();
    let mut origins = configured.origins;
    origins.extend(studio.iter().chain(&public).filter_map(origin));
    let allowed = options.allowed_hosts.iter().map(|name| domain(name));
    let names = [domain(&options.host), public.as_ref().and_then(|url| domain(url.host_str()?))];
    let names: Vec<_> = names.into_iter().chain(allowed).collect();
    let refusal = |status: u16, (what, remedy): (&str, &str)| json!([status, what, remedy]);
    json!({
        "ports": ports,
        "page": page,
        "mark": story::MARK,
        "scheme": if options.tls.is_some() { "https" } else { "http" },
        "hosts": hosts(names.iter().flatten()),
        "loopback": format!(r"https?://(?:{LOCALHOST}\.?|{LOOPBACK})(?::[0-9]+)?"),
        "origins": origins,
        "pattern": configured.pattern,
        "hidden": local::JAVASCRIPT_TEST_ROUTES,
        "here": {
            "hosts": format!(r"(?:{LOCALHOST}\.?|{LOOPBACK})(?::[0-9]*)?"),
            "peers": PEERS,
            "header": local::STUDIO_HEADER,
            "ignored": format!("ignored the header `{}` {NOT_HERE}", local::STUDIO_HEADER),
        },
        "refusals": {
            "host": refusal(421, NO_HOST),
            "origin": refusal(403, NO_ORIGIN),
            "null": refusal(403, NULL_ORIGIN),
        },
    })
}

/// The URL of the module that applies the rules to servers of a Node.js that imports it.
pub(super) fn node_module(rules: &Value) -> String {
    let text = format!("const rules = {rules};\n{NODE}");
    format!("data:text/javascript;base64,{}", STANDARD.encode(text))
}

/// An expression for the values of `Host`.
fn hosts<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: String = names.map(|name| format!("|{}", name.replace('.', r"\."))).collect();
    format!(r"(?:(?:{LOCALHOST}{names}|{IPV4})\.?|{IPV6})(?::[0-9]*)?")
}

/// A name as browsers send it; none for an address.
fn domain(host: &str) -> Option<String> {
    match Host::parse(host).ok()? {
        Host::Domain(name) => Some(name.trim_end_matches('.').to_owned()),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// The origin of pages at a URL, as browsers send it.
fn origin(url: &Url) -> Option<String> {
    let origin = url.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use regex_lite::Regex;

    use super::*;
    use crate::dev::session::{Port, Selection, Surroundings};

    fn rules_of(host: &str, studio: &str, public: Option<&str>) -> Value {
        let selection = Selection {
            python: None,
            surroundings: Surroundings::default(),
            timeout: Duration::ZERO,
            verbose: false,
        };
        let options = Options {
            host: host.to_owned(),
            port: Port::Exactly(2024),
            allowed_hosts: vec!["host.docker.internal".to_owned()],
            reload: true,
            standby: false,
            jobs: 1,
            debugger: None,
            allow_blocking: false,
            tunnel: public.is_some(),
            installs: false,
            tls: None,
            log_level: String::new(),
            colour: false,
            start_timeout: Duration::ZERO,
            studio: studio.to_owned(),
            selection,
        };
        let address = Address { port: 2024, sockets: Vec::new(), public: public.map(str::to_owned) };
        rules(&options, &address, &[2024], Configured::default(), Value::Null)
    }

    #[test]
    fn only_the_name_given_is_a_host() {
        for (host, accepted) in [
            ("My-Box.local", "my-box.local"),
            ("my-box.local.", "my-box.local"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            let rules = rules_of(host, local::STUDIO.0, None);
            let hosts = Regex::new(&format!("^(?:{})$", rules["hosts"].as_str().unwrap())).unwrap();
            for end in ["", ":2024", ".", ".:2024"] {
                assert!(hosts.is_match(&format!("{accepted}{end}")), "{host}");
            }
            assert!(hosts.is_match("host.docker.internal:2024"), "{host}");
            for other in [
                "hostxdocker.internal",
                "a.host.docker.internal",
                "my-boxxlocal",
                "a.my-box.local",
                "my-box.local.evil.example",
                "evil.example",
            ] {
                assert!(!hosts.is_match(other), "{host}: {other}");
            }
        }
        for host in ["127.0.0.1", "0.0.0.0", "::", "::1", "localhost"] {
            let rules = rules_of(host, local::STUDIO.0, None);
            let hosts = Regex::new(&format!("^(?:{})$", rules["hosts"].as_str().unwrap())).unwrap();
            assert!(hosts.is_match("[::1]:2024") && !hosts.is_match("evil.example"), "{host}");
        }
    }

    #[test]
    fn studio_and_tunnel_are_origins() {
        let tunnel = Some("https://some-words.trycloudflare.com");
        let origins = |studio, public| rules_of("127.0.0.1", studio, public)["origins"].clone();
        assert_eq!(origins(local::STUDIO.0, None), json!(["https://smith.langchain.com"]));
        assert_eq!(
            origins("HTTP://Studio.example:80/path?x#y", tunnel),
            json!(["http://studio.example", "https://some-words.trycloudflare.com"])
        );
        for without in ["data:text/html,x", "file:///studio", "studio", ""] {
            assert_eq!(origins(without, None), json!([]), "{without}");
        }
    }

    #[test]
    fn configured_origins_are_those_of_the_server() {
        let configured = |cors: Value, variable| {
            let Configured { origins, pattern } = Configured::new(Some(&cors), variable);
            (origins.join(" "), pattern)
        };
        let variable = Some("https://a.example, https://b.example");
        assert_eq!(configured(json!({ "allow_origins": ["*"] }), variable), ("*".to_owned(), None));
        let both = configured(json!({ "allow_origin_regex": "x" }), variable);
        assert_eq!(both, ("https://a.example https://b.example".to_owned(), Some("x".to_owned())));
        assert_eq!(configured(Value::Null, None), (String::new(), None));
    }
}
