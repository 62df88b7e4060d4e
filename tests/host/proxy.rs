//! The proxy of the tests does what it says.

use std::time::{Duration, Instant};

use super::creation;
use super::service::{Answer, Host, KEY};
use crate::proxy::{Fault, Proxy, nobody};

fn create(host: &Host, proxy: &Proxy, name: &str) -> reqwest::Result<Answer> {
    let url = format!("{}/v2/deployments", proxy.url());
    let body = creation(name).to_string().into_bytes();
    host.send("POST", &url, &[("X-Api-Key", KEY)], Some(("application/json", body)))
}

fn count(host: &Host) -> usize {
    host.expect(200, "GET", "/v2/deployments", None)["resources"].as_array().unwrap().len()
}

#[test]
fn each_fault() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    assert_eq!(create(&host, &proxy, "well").unwrap().status, 201);
    let fails = [
        (Fault::Reset, false),
        (Fault::ResetInRequest, false),
        (Fault::ResetInAnswer, true),
        (Fault::Lost, true),
    ];
    let mut made = 1;
    for (index, (fault, is_done)) in fails.into_iter().enumerate() {
        proxy.fail("POST", "/v2/deployments", fault.clone(), 1);
        assert!(create(&host, &proxy, &format!("broken-{index}")).is_err(), "{fault:?}");
        made += usize::from(is_done);
        assert_eq!(count(&host), made, "{fault:?}");
    }
    let truncated = {
        proxy.fail("POST", "", Fault::Truncated, 1);
        create(&host, &proxy, "truncated").unwrap()
    };
    assert!(
        truncated.status == 201 && truncated.json.is_null() && !truncated.text.is_empty(),
        "{truncated:?}"
    );
    proxy.fail("", "", Fault::WrongType, 1);
    assert_eq!(create(&host, &proxy, "type").unwrap().json["name"], "type");
    proxy.fail("", "", Fault::Slow(Duration::from_millis(20)), 1);
    let start = Instant::now();
    assert_eq!(create(&host, &proxy, "slow").unwrap().status, 201);
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert_eq!(proxy.forwarded("POST", "/v2/deployments"), 6);
    for (fault, status) in [(Fault::BUSY, 429), (Fault::BROKEN, 500), (Fault::GATEWAY, 502)] {
        proxy.fail("", "", fault, 1);
        assert_eq!(create(&host, &proxy, "answer").unwrap().status, status);
    }
    let other = Proxy::start(host.address());
    proxy.fail("", "", Fault::Redirect(307, format!("{}/v2/deployments", other.url())), 1);
    assert_eq!(create(&host, &proxy, "elsewhere").unwrap().status, 201);
    assert_eq!((other.forwarded("POST", ""), proxy.forwarded("", "")), (1, 6));
    assert!(other.heads()[0].contains("POST /v2/deployments"), "{:?}", other.heads());
    proxy.fail("", "", Fault::Reset, usize::MAX);
    assert!(create(&host, &proxy, "never").is_err());
    proxy.mend();
    assert_eq!(create(&host, &proxy, "at-last").unwrap().status, 201);
    assert_eq!(count(&host), 8);
    let (_socket, address) = nobody();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn a_hang_is_no_answer() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    proxy.fail("GET", "/v2/deployments", Fault::Hang, 1);
    let mut stream = std::net::TcpStream::connect(proxy.address()).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /v2/deployments HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(std::io::Read::read(&mut stream, &mut [0]).is_err(), "something was answered");
    assert_eq!(proxy.forwarded("", ""), 0);
}
