//! The service misbehaves as it is told to.

use std::time::{Duration, Instant};

use agentcli_host::Faults;
use serde_json::json;

use super::creation;
use super::service::{Answer, Host, KEY};

fn with(rules: &str) -> Host {
    Host::start(|options| options.faults = rules.parse().unwrap())
}

fn get(host: &Host) -> reqwest::Result<Answer> {
    host.send("GET", "/v2/deployments", &[("X-Api-Key", KEY)], None)
}

fn create(host: &Host, name: &str) -> reqwest::Result<Answer> {
    let body = creation(name).to_string().into_bytes();
    host.send("POST", "/v2/deployments", &[("X-Api-Key", KEY)], Some(("application/json", body)))
}

#[test]
fn what_was_asked_is_done_or_not() {
    let rules = r#"[
        { "method": "POST", "path": "/v2/deployments", "nth": 1, "do": "reset" },
        { "method": "POST", "path": "/v2/deployments", "nth": 2, "do": "lost" },
        { "method": "POST", "path": "/v2/deployments", "nth": [3, 4], "do": "truncate" }
    ]"#;
    let host = with(rules);
    for name in ["reset", "lost", "truncated"] {
        assert!(create(&host, name).is_err(), "{name}");
    }
    let list = host.expect(200, "GET", "/v2/deployments", None);
    let names: Vec<_> = list["resources"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["truncated", "lost"]);
    assert!(create(&host, "more").is_err());
    assert_eq!(create(&host, "well").unwrap().status, 201);
}

#[test]
fn answers_of_other_kinds() {
    let rules = r#"[
        { "path": "/v2/*", "nth": 1, "do": { "answer": { "status": 429, "headers": { "retry-after": "7" } } } },
        { "path": "/v2/**", "nth": 2, "do": { "answer": { "status": 502, "content_type": "text/html", "body": "<h1>no" } } },
        { "path": "/**", "nth": 3, "do": { "delay": 300 } }
    ]"#;
    let host = with(rules);
    assert_eq!(get(&host).unwrap().status, 429);
    let html = get(&host).unwrap();
    assert_eq!((html.status, &*html.text), (502, "<h1>no"));
    let start = Instant::now();
    assert_eq!(get(&host).unwrap().status, 200);
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert_eq!(get(&host).unwrap().status, 200);
}

#[test]
fn a_hang_ends_with_the_service() {
    let host = with(r#"[{ "do": "hang" }]"#);
    let (asked, start) = (host.address(), Instant::now());
    let mut stream = std::net::TcpStream::connect(asked).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(std::io::Read::read(&mut stream, &mut [0]).is_err(), "something was answered");
    drop(host);
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (rules, expected) in [
        ("[{]", "line 1 column 3"),
        ("{}", "expected a sequence"),
        (r#"[{ "do": "explode" }]"#, "unknown variant `explode`"),
        (r#"[{ "path": "/" }]"#, "missing field `do`"),
        ("[{ \"do\": \"hang\" },\n { \"pth\": \"/\", \"do\": \"hang\" }]", "unknown field `pth`"),
        (r#"[{ "nth": "first", "do": "hang" }]"#, "a number from 1, or a list of them"),
        (r#"[{ "nth": 0, "do": "hang" }]"#, "rule 1: `nth` and `revision` count from 1"),
        (r#"[{ "path": "v2", "do": "hang" }]"#, "rule 1: `path` begins with `/`, not `v2`"),
        (r#"[{ "method": "get", "do": "hang" }]"#, "rule 1: `method` is one of DELETE, GET"),
        (r#"[{ "do": "stall" }]"#, "rule 1: `fail` and `stall` need `revision`"),
        (
            r#"[{ "revision": 1, "do": { "fail": { "status": "DEPLOYED" } } }]"#,
            "rule 1: `status` of a revision that fails is one of CREATE_FAILED, BUILD_FAILED, DEPLOY_FAILED, not `DEPLOYED`",
        ),
        (r#"[{ "do": "hang" }, { "revision": 1, "do": "hang" }]"#, "rule 2: `revision` goes with"),
        (r#"[{ "do": { "answer": { "status": 100 } } }]"#, "a number from 200 to 599, not 100"),
        (
            r#"[{ "do": { "answer": { "status": 200, "headers": { "a b": "" } } } }]"#,
            "`a b` cannot be a header",
        ),
    ] {
        let error = rules.parse::<Faults>().err().unwrap_or_else(|| panic!("{rules} is taken"));
        assert!(error.contains(expected), "{rules}: {error}");
    }
    assert_eq!(create(&with("[]"), "app").unwrap().json["secrets"], json!([]));
}
