//! `agentcli host serve`, as a process and as a command.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::service::{PATIENCE, ended, send};
use crate::harness::TestEnv;

fn start(env: &TestEnv, arguments: &[&str]) -> Child {
    let mut command = Command::new(crate::harness::program());
    command
        .args(["host", "serve", "--data", "data", "--port", "0"])
        .args(arguments)
        .current_dir(env.path("."));
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The first line that it says.
pub(super) fn first_line(child: &mut Child) -> String {
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || sender.send(out.next()).ok());
    let Ok(Some(Ok(line))) = lines.recv_timeout(PATIENCE) else {
        child.kill().ok();
        panic!("it does not say where it is");
    };
    line
}

#[test]
fn it_says_where_it_is_and_ends_well() {
    let env = TestEnv::empty();
    let key = env.run("host keys create --data data").out;
    for (json, signal) in [(true, Signal::INT), (false, Signal::TERM)] {
        let mut child = start(&env, if json { &["--json"] } else { &[] });
        let line = first_line(&mut child);
        let url = match json {
            true => {
                let event: Value = serde_json::from_str(&line).unwrap();
                assert_eq!(event["event"], "ready");
                event["url"].as_str().unwrap().to_owned()
            }
            false => line.strip_prefix("listening on ").unwrap().to_owned(),
        };
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        // A connection that asks nothing does not hold it up.
        let _idle = std::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        let key = [("X-Api-Key", key.trim())];
        let list = send("GET", &format!("{url}/v2/deployments"), &key, None).unwrap();
        assert_eq!((list.status, &*list.text), (200, r#"{"resources":[],"offset":0}"#));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = ended(child, PATIENCE);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn what_it_cannot_use_is_told() {
    let env = TestEnv::empty()
        .file("login", "nobody")
        .file("repositories.json", "{}")
        .file("listeners.json", "[{}]");
    for (arguments, code, expected) in [
        ("--repositories repositories.json", 2, "cannot read repositories from"),
        ("--listeners listeners.json", 2, "cannot read listeners from `listeners.json`: missing field `id`"),
        ("--registry a/B", 2, "cannot begin the name of an image"),
        ("--registry a --registry-login-file login", 2, "it is not USERNAME:PASSWORD"),
        ("--registry-login-file login", 2, "--registry"),
    ] {
        let run = env.run(&format!("host serve --port 0 --data data {arguments}"));
        assert_eq!((run.code, &*run.out), (code, ""), "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
    let run = env.run("host serve --port 0 --data login");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("cannot use the data directory"), "{}", run.err);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = env.run(&format!("host serve --data data --port {port}"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(
        run.err.contains(&format!("cannot listen on 127.0.0.1:{port}: address already in use")),
        "{}",
        run.err
    );
    assert!(run.err.contains("choose another port with --port"), "{}", run.err);
}
