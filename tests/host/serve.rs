//! `agentcli host serve`, as a process and as a command.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::service::{PATIENCE, ended, send};
use super::tls::Certificates;
use crate::harness::{TestEnv, lines};

fn start(env: &TestEnv, arguments: &[&str]) -> Child {
    run(Command::new(crate::harness::program()), env, arguments)
}

/// Starts the service with the program of `command`.
fn run(mut command: Command, env: &TestEnv, arguments: &[&str]) -> Child {
    command
        .args(["host", "serve", "--data", "data", "--listen", "127.0.0.1:0", "--proxy", "127.0.0.1:0"])
        .args(arguments)
        .current_dir(env.path("."));
    command.env("DOCKER_HOST", "unix:///nowhere").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The first line that it says.
pub(crate) fn first_line(child: &mut Child) -> String {
    lines(child.stdout.take().unwrap()).recv_timeout(PATIENCE).unwrap_or_else(|_| {
        child.kill().ok();
        panic!("it does not say where it is")
    })
}

#[test]
fn it_says_where_it_is_and_ends_well() {
    let env = TestEnv::empty();
    let key = env.run("host keys create --data data").out;
    for (json, signal) in [(true, Signal::INT), (false, Signal::TERM)] {
        let mut child = start(&env, if json { &["--json"] } else { &[] });
        let line = first_line(&mut child);
        let url = if json {
            let event: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(event["event"], "ready");
            event["url"].as_str().unwrap().to_owned()
        } else {
            line.strip_prefix("listening on ").unwrap().split(',').next().unwrap().to_owned()
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
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.lines().all(|line| line.starts_with("note: ")), "{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn it_may_open_more_files_than_programs_usually_may() {
    let env = TestEnv::empty();
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -Sn 256 && exec "$0" "$@""#]).arg(crate::harness::program());
    let mut child = run(shell, &env, &["--json"]);
    first_line(&mut child);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    ended(child, PATIENCE);
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] > 256 && numbers[0] == numbers[1].min(16_384), "{line}");
}

#[test]
fn deploy_reaches_it_over_tls() {
    let env = TestEnv::empty();
    let key = env.run("host keys create --data data").out;
    let certificates = Certificates::new();
    let file = |name: &str| certificates.path(name).to_str().unwrap().to_owned();
    let mut child = start(&env, &["--tls-cert", &file("cert.pem"), "--tls-key", &file("key.pem")]);
    let line = first_line(&mut child);
    let (url, proxy) =
        line.strip_prefix("listening on ").unwrap().split_once(", for deployments on ").unwrap();
    assert!(url.starts_with("https://127.0.0.1:") && proxy.starts_with("https://NAME.localhost:"), "{line}");
    for (trusted, code) in [(Some(file("cert.pem")), 0), (None, 1)] {
        let mut command = Command::new(crate::harness::program());
        command.args(["deploy", "list", "--host-url", url]).env("AGENT_HOST_API_KEY", key.trim());
        command.envs(trusted.map(|path| ("SSL_CERT_FILE", path))).env("NO_PROXY", "127.0.0.1");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(child, PATIENCE).status.code(), Some(0));
}

#[test]
fn certificate_or_key_that_cannot_be_used_is_an_error() {
    let env = TestEnv::empty();
    let certificates = Certificates::new();
    certificates.make("other.pem", "other-key.pem");
    // Only its header is read.
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHj\n-----END ENCRYPTED PRIVATE KEY-----\n";
    std::fs::write(certificates.path("encrypted.pem"), encrypted).unwrap();
    let run = |arguments: &str| {
        let arguments = arguments.replace("@", &format!("{}/", certificates.0.path().display()));
        env.run(&format!("host serve --listen 127.0.0.1:0 --data data {arguments}"))
    };
    for (arguments, expected) in [
        ("--tls-cert @cert.pem --tls-key @none.pem", "none.pem`: no such file"),
        ("--tls-cert @key.pem --tls-key @key.pem", "key.pem`: it has no certificate in PEM format"),
        ("--tls-cert @cert.pem --tls-key @cert.pem", "cert.pem`: it has no private key in PEM format"),
        (
            "--tls-cert @cert.pem --tls-key @other-key.pem",
            "other-key.pem`: it is not the key of the certificate",
        ),
        (
            "--tls-cert @cert.pem --tls-key @encrypted.pem",
            "encrypted.pem`: it is encrypted\nhint: decrypt it with `openssl",
        ),
    ] {
        let run = run(arguments);
        assert_eq!((run.code, &*run.out), (1, ""), "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
    for arguments in ["--tls-cert @cert.pem", "--tls-key @key.pem"] {
        assert_eq!(run(arguments).code, 2, "{arguments}");
    }
}

#[test]
fn what_it_cannot_use_is_told() {
    let env = TestEnv::empty()
        .file("login", "nobody")
        .file("repositories.json", "{}")
        .file("listeners.json", "[{}]")
        .file(
            "short.json",
            r#"[{"host_integration_id": "a", "id": 1, "name": "agent", "owner": "b", "url": "https://code.example/b/agent", "default_branch": "d",
                "webhook_secret": "too short"}]"#,
        );
    for (arguments, code, expected) in [
        ("--repositories repositories.json", 2, "cannot read repositories from"),
        ("--repositories short.json", 2, "webhook_secret of agent is not a text of at least 16 bytes"),
        ("--templates none", 2, "cannot read templates from `none`: no such file"),
        ("--listeners listeners.json", 2, "cannot read listeners from `listeners.json`: missing field `id`"),
        ("--allow-image a/B", 2, "`a/B` is not an image, PREFIX/* or *"),
        ("--registry a/B", 2, "cannot begin the name of an image"),
        ("--registry a --registry-login-file login", 2, "it is not USERNAME:PASSWORD"),
        ("--registry-login-file login", 2, "--registry"),
    ] {
        let run = env.run(&format!("host serve --listen 127.0.0.1:0 --data data {arguments}"));
        assert_eq!((run.code, &*run.out), (code, ""), "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
    let run = env.run("host serve --data login");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("cannot use the data directory"), "{}", run.err);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = env.run(&format!("host serve --data data --listen 127.0.0.1:{port}"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(
        run.err.contains(&format!("cannot listen on 127.0.0.1:{port}: address already in use")),
        "{}",
        run.err
    );
    assert!(run.err.contains("choose another one"), "{}", run.err);
}
