//! The deployment service, in this process.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use super::{Machine, check};
use crate::host::service::{Host, KEY};

#[test]
fn keys_are_accepted_or_refused() {
    let host = Host::start(|_| {});
    let machine = Machine::empty();
    let with = |key| machine.json("deploy", &[("AGENT_HOST_URL", &*host.url()), ("AGENT_HOST_API_KEY", key)]);
    let (report, _) = with(KEY);
    let shown = format!("{}, AGENT_HOST_URL in the environment", host.url());
    assert_eq!(check(&report, "service"), ("fine", &*shown, ""));
    assert_eq!(check(&report, "key"), ("fine", "accepted, AGENT_HOST_API_KEY in the environment", ""));
    assert_eq!(check(&report, "clock"), ("fine", "agrees with that of the deployment service", ""));

    let (report, code) = with("another-key");
    let (status, found, help) = check(&report, "key");
    assert_eq!((status, code), ("missing", 1));
    assert!(found.starts_with("`GET /v2/deployments` was denied"), "{found}");
    assert!(help.contains("AGENT_HOST_API_KEY") && !report.to_string().contains("another-key"), "{report}");

    let (report, _) = machine.json("deploy", &[("AGENT_HOST_URL", &*host.url())]);
    assert_eq!(check(&report, "service").0, "fine");
    let (status, found, help) = check(&report, "key");
    assert_eq!((status, found), ("missing", "no API key for the deployment service is set"));
    assert!(help.contains("AGENT_HOST_API_KEY"), "{help}");
}

/// A cloned project cannot make anybody send their key to its address.
#[test]
fn keys_are_not_sent_to_addresses_of_the_project() {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", service.local_addr().unwrap());
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in service.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            sender.send(head.join("\n")).unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n").ok();
        }
    });
    let machine = Machine::new();
    fs::write(machine.project.path(".env"), format!("AGENT_HOST_URL={address}\n")).unwrap();
    let (report, _) = machine.json("", &[("AGENT_HOST_API_KEY", "sekrit")]);
    assert_eq!(check(&report, "service").0, "fine");
    let (status, found, help) = check(&report, "key");
    assert_eq!(status, "missing");
    assert!(found.starts_with("refusing to send the API key"), "{found}");
    assert!(help.contains("--host-url"), "{help}");
    let (status, found, _) = check(&report, "clock");
    assert_eq!(status, "degraded");
    assert!(found.ends_with("s ahead of that of the deployment service"), "{found}");
    let heads: Vec<String> = heads.try_iter().collect();
    assert_eq!(heads.len(), 1, "{heads:?}");
    assert!(heads[0].starts_with("HEAD / ") && !heads[0].contains("sekrit"), "{heads:?}");
}
