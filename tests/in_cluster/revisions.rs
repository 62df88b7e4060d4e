//! The real server: from nothing to the first answer, an edit under load, and a revision that does not start.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{NAME, Stage, images};
use crate::harness::until;

/// Time between two requests while a revision replaces another: 50 requests per second.
const PAUSE: Duration = Duration::from_millis(20);

/// The address of a NodePort that leads to the server.
fn exposed(stage: &Stage) -> String {
    stage.kubectl(
        &["expose", "deployment", NAME, "--name", "outside", "--type", "NodePort", "--port", "8000"],
        "",
    );
    let port = stage.get(&["service", "outside"])["spec"]["ports"][0]["nodePort"].clone();
    let node = stage.get(&["nodes"]);
    let addresses = node["items"][0]["status"]["addresses"].as_array().unwrap();
    let address = addresses.iter().find(|it| it["type"] == "InternalIP").unwrap();
    format!("{}:{port}", address["address"].as_str().unwrap())
}

/// The first line of the answer to `GET /ok`.
fn ask(address: &str) -> String {
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(b"GET /ok HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    };
    answer().unwrap_or_else(|error| error.to_string())
}

#[test]
fn an_edit_replaces_what_serves_and_a_broken_one_does_not() {
    let [first, second] = images();
    let stage = Stage::new();
    let deployed = stage.deploy(&format!("--image {first}"));
    assert_eq!(deployed.code, 0, "{}", deployed.err);
    stage.greets("Hello, Ada!");

    let again = stage.deploy(&format!("--image {first}"));
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.err.contains("revision 1 is up to date"), "{}", again.err);

    let address = exposed(&stage);
    until(|| ask(&address).ends_with("200 OK"), || ask(&address));
    let is_over = AtomicBool::new(false);
    let (answers, edited) = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut answers = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                answers.push(ask(&address));
                thread::sleep(PAUSE);
            }
            answers
        });
        let edited = stage.deploy(&format!("--image {second}"));
        is_over.store(true, Ordering::Relaxed);
        (asking.join().unwrap(), edited)
    });
    assert_eq!(edited.code, 0, "{}", edited.err);
    stage.greets("Welcome, Ada!");
    let failed: Vec<_> = answers.iter().filter(|answer| !answer.ends_with("200 OK")).collect();
    assert!(answers.len() > 50, "only {} requests", answers.len());
    assert!(failed.is_empty(), "{} of {}, such as {:?}", failed.len(), answers.len(), failed[0]);
    // The Service with the labels of the deployment is not one of its objects.
    stage.get(&["service", "outside"]);

    let broken = stage.deploy("--image agentcli.test/absent:1");
    assert_eq!(broken.code, 1, "{}", broken.err);
    for part in ["revision 3 of `hello` did not start", "agentcli.test/absent:1", "revision 2 still serves"] {
        assert!(broken.err.contains(part), "{part}: {}", broken.err);
    }
    stage.greets("Welcome, Ada!");

    let back = stage.deploy("--image agentcli.test/absent:2 --atomic");
    assert_eq!(back.code, 1, "{}", back.err);
    assert!(back.err.contains("went back to revision 2"), "{}", back.err);
    let server = stage.get(&["deployment", NAME]);
    assert_eq!(server["spec"]["template"]["spec"]["containers"][0]["image"], **second);
    stage.greets("Welcome, Ada!");
}
