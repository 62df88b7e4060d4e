//! Single requests: which origins and hosts are accepted, whatever the method and the type of the body.

use std::thread;
use std::time::{Duration, Instant};

use super::raw::exchange;
use super::{FOREIGN, Target};
use crate::dev::PATIENCE;

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const TYPES: &[&str] = &[
    "text/plain",
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
];

const FOREIGN_ORIGINS: &[&str] = &[
    FOREIGN,
    "http://evil.example",
    "null",
    "",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://evil.example:2024",
    "http://localhost@evil.example",
    "http://localhost:80@evil.example",
    "http://notlocalhost",
    "http://localhost/",
    "http://localhost:port",
    "http://[::2]:2024",
    "http://128.0.0.1",
    "ftp://localhost",
    "file://",
    "chrome-extension://abcdefgh",
    // That of the default, where another studio is named; and another port of the studio's host.
    "https://smith.langchain.com",
    "http://studio.example",
    "https://evil.example, http://localhost",
    "http://localhost https://evil.example",
];

const OWN_ORIGINS: &[&str] = &[
    "http://localhost",
    "https://localhost:3000",
    "http://LocalHost:3000",
    "http://localhost.:3000",
    "http://app.localhost:5173",
    "http://127.0.0.1:8080",
    "http://127.9.9.9",
    "http://[::1]:5173",
];

const FOREIGN_HOSTS: &[&str] = &[
    "evil.example",
    "evil.example:2024",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "notlocalhost",
    "localhost:80:80",
    "localhost:port",
    "localhost, evil.example",
    "2130706433",
    "0x7f.1",
    "[evil.example]",
    "",
];

const OWN_HOSTS: &[&str] = &[
    "localhost",
    "localhost:1",
    "localhost.:1",
    "app.localhost",
    "127.0.0.1",
    "127.0.0.1:1",
    "192.168.1.5:1",
    "[::1]:1",
    "[fe80::1]",
];

pub(super) fn are_judged(target: &Target) {
    origins(target);
    hosts(target);
    test_routes_do_not_exist(target);
    streams(target);
    the_studio_passes_on_this_machine_only(target);
    reports_are_bounded(target);
}

fn origins(target: &Target) {
    for method in METHODS {
        for kind in TYPES {
            for origin in [FOREIGN, "null"] {
                let response =
                    target.ask(method, "/threads", &[("Origin", origin), ("Content-Type", kind)], "{}");
                assert_eq!(response.status, 403, "{method} {kind} {origin}");
                assert!(!response.head.contains("access-control"), "{response:?}");
            }
        }
    }
    for origin in FOREIGN_ORIGINS {
        let response = target.ask("POST", "/threads", &[("Origin", origin)], "{}");
        assert_eq!(response.status, 403, "{origin}: {response:?}");
    }
    let response = target.ask("POST", "/threads", &[("Origin", FOREIGN)], "{}");
    assert_eq!(
        response.detail(),
        "refused a request from a page at `https://evil.example`; to allow it, add it to `http.cors.allow_origins` in \
         the configuration, or pass it with --studio-url if it is a studio"
    );
    let both = [("Origin", "http://localhost"), ("Origin", FOREIGN)];
    assert_eq!(target.ask("POST", "/threads", &both, "{}").status, 403);
    // Browsers ask in the second way when a public page calls a loopback address.
    let preflights = |origin| {
        let headers = [
            ("Origin", origin),
            ("Access-Control-Request-Method", "DELETE"),
            ("Access-Control-Request-Private-Network", "true"),
        ];
        [&headers[..2], &headers].map(|headers| target.ask("OPTIONS", "/threads", headers, ""))
    };
    for response in preflights(FOREIGN) {
        assert_eq!(response.status, 403, "{response:?}");
    }
    let studio = target.pages.origin("studio.example");
    for origin in OWN_ORIGINS.iter().copied().chain([&*studio]) {
        let response = target.ask("POST", "/threads/search", &[("Origin", origin)], "{}");
        assert_eq!(response.status, 200, "{origin}: {response:?}");
        for response in preflights(origin) {
            assert!(matches!(response.status, 200 | 204), "{origin}: {response:?}");
            assert!(response.head.contains("access-control-allow-origin"), "{origin}: {response:?}");
        }
    }
    assert_eq!(target.ask("POST", "/threads/search", &[], "{}").status, 200);
}

fn hosts(target: &Target) {
    let ask = |headers: &[(&str, &str)]| super::ask(target.port, "POST", "/threads/search", headers, "{}");
    for host in FOREIGN_HOSTS {
        let response = ask(&[("Host", host)]);
        assert_eq!(response.status, 421, "{host}: {response:?}");
        assert!(
            response.detail().ends_with("use localhost or an IP address, or pass the name with --allow-host")
        );
        // The name of a page that leads here.
        let response = ask(&[("Host", host), ("Origin", &format!("http://{host}"))]);
        assert_eq!(response.status, 421, "{host}");
    }
    for host in OWN_HOSTS {
        assert_eq!(ask(&[("Host", host)]).status, 200, "{host}");
        // A page of the server itself, such as the documentation, from another machine.
        assert_eq!(ask(&[("Host", host), ("Origin", &format!("http://{host}"))]).status, 200, "{host}");
    }
    // The JavaScript server itself does not accept it.
    assert_ne!(ask(&[("Host", "LOCALHOST:1")]).status, 421);
    let foreign = [("Host", "192.168.1.5:1"), ("Origin", "http://192.168.1.6:1")];
    assert_eq!(ask(&foreign).status, 403);
    assert_eq!(ask(&[("Host", "192.168.1.5:1"), ("Origin", "https://192.168.1.5:1")]).status, 403);
    assert_eq!(ask(&[("Host", "localhost"), ("Host", "evil.example")]).status, 421);
    let whole = "http://evil.example/threads/search";
    assert_eq!(super::ask(target.port, "POST", whole, &[("Host", "evil.example")], "{}").status, 421);
    let local = "http://localhost/threads/search";
    assert_eq!(super::ask(target.port, "POST", local, &[("Host", "localhost")], "{}").status, 200);
    assert_eq!(exchange(target.port, "GET /ok HTTP/1.0\r\n\r\n").status, 200);
    for (line, more) in [
        ("GET http://evil.example/ok HTTP/1.1", ""),
        ("GET //evil.example/ok HTTP/1.1", ""),
        ("GET /ok HTTP/1.1", ""),
        ("GET http://evil.example/ok HTTP/1.1", "X-Forwarded-Host: localhost\r\n"),
    ] {
        let status = exchange(target.port, &format!("{line}\r\n{more}\r\n")).status;
        assert!([400, 421].contains(&status), "{line}: {status}");
    }
    assert_eq!(exchange(target.port, "GET /ok HTTP/1.0\r\nHost: evil.example\r\n\r\n").status, 421);
}

fn test_routes_do_not_exist(target: &Target) {
    let paths = ["/internal/truncate", "/%69nternal/truncate", "/./internal/x/../truncate", "/deploy"];
    for path in paths {
        let body = r#"{"runs":true,"threads":true,"assistants":true,"checkpointer":true,"store":true}"#;
        let response = target.ask("POST", path, &[("Content-Type", "application/json")], body);
        assert_eq!(response.status, 404, "{path}: {response:?}");
    }
    assert_eq!(target.ask("GET", "/deploy", &[], "").status, 404);
}

/// The studio's header replaces what `auth` asks for, unless the request comes through a tunnel or from elsewhere.
fn the_studio_passes_on_this_machine_only(target: &Target) {
    let status = |host: &str, headers: &[(&str, &str)]| {
        let headers = [&[("Host", host), ("X-Deny", "1")], headers].concat();
        super::ask(target.port, "POST", "/threads/search", &headers, "{}").status
    };
    let studio = [("X-Auth-Scheme", "langsmith")];
    for host in ["localhost:1", "app.localhost", "127.0.0.1", "[::1]:1"] {
        assert_eq!(status(host, &[]), 401, "{host}");
        assert_eq!(status(host, &studio), 200, "{host}");
    }
    for host in ["192.168.1.5:1", "[fe80::1]", "10.0.0.1"] {
        assert_eq!(status(host, &studio), 401, "{host}");
        assert_eq!(status(host, &[studio[0], studio[0]]), 401, "{host}");
    }
    target.dev.hear_once("ignored the header `x-auth-scheme` of a request");
}

fn streams(target: &Target) {
    let body = r#"{"assistant_id":"agent","input":{"name":"Ada"}}"#;
    let accept = ("Accept", "text/event-stream");
    let response = target.ask("POST", "/runs/stream", &[("Origin", FOREIGN), accept], body);
    assert_eq!(response.status, 403);
    let path = format!("/threads/{}/runs/{}/stream", target.thread, target.run);
    assert_eq!(target.ask("GET", &path, &[("Origin", "null"), accept], "").status, 403);
    assert_eq!(upgrade(target, "127.0.0.1", FOREIGN), 403);
    assert_eq!(upgrade(target, "127.0.0.1", "null"), 403);
    assert_eq!(upgrade(target, "evil.example", "http://evil.example"), 421);
}

/// Only the Python server has WebSockets.
pub(super) fn websockets_are_judged(target: &Target) {
    let studio = target.pages.origin("studio.example");
    for origin in ["http://localhost:3000", "http://127.0.0.1", &studio] {
        assert_eq!(upgrade(target, "127.0.0.1", origin), 101, "{origin}");
    }
}

fn upgrade(target: &Target, host: &str, origin: &str) -> u16 {
    let headers = [
        ("Host", host),
        ("Origin", origin),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let path = format!("/threads/{}/stream/events", target.thread);
    super::ask(target.port, "GET", &path, &headers, "").status
}

fn reports_are_bounded(target: &Target) {
    target.ask("POST", "/threads", &[("Origin", &format!("https://\u{9b}31m{}", "x".repeat(5000)))], "{}");
    for number in 0..200 {
        target.ask("GET", "/ok", &[("Origin", &format!("https://{number}.flood.example"))], "");
    }
    target.dev.hear("`https://\\xc2\\x9b31mxxx");
    let reports = || {
        let talk = target.dev.talk();
        let is_report =
            |line: &&str| line.starts_with("refused a request") || line.starts_with("ignored the header");
        let lines = talk.lines().filter(is_report);
        lines.map(str::len).collect::<Vec<_>>()
    };
    let deadline = Instant::now() + PATIENCE;
    while reports().len() < 100 {
        assert!(Instant::now() < deadline, "{}", target.dev.talk());
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(reports().len(), 100);
    assert!(reports().iter().all(|length| *length < 500));
}
