//! `agentcli doctor`, as a process of its own with an environment of its own.

#[cfg(feature = "system-tests")]
mod machines;
mod service;

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{TestEnv, VALID};

/// The least that is more than any deadline of a check.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a project and one for programs, and a run of `doctor` in it.
struct Machine {
    project: TestEnv,
    programs: TempDir,
}

/// The result of a run.
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Machine {
    /// A machine with a valid Python project, no programs and no engine.
    fn new() -> Self {
        Self { project: TestEnv::project(), programs: TempDir::new().unwrap() }
    }

    /// The same without a configuration.
    fn empty() -> Self {
        Self { project: TestEnv::empty(), programs: TempDir::new().unwrap() }
    }

    /// With this program on the PATH, a script of the shell.
    fn program(self, name: &str, script: &str) -> Self {
        let path = self.programs.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(crate::harness::program());
        command
            .arg("doctor")
            .args(arguments.split_whitespace())
            .current_dir(self.project.path(""))
            .env_clear()
            .env("PATH", self.programs.path())
            .env("HOME", self.programs.path())
            .env("DOCKER_HOST", "unix:///nowhere/docker.sock")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &str, variables: &[(&str, &str)]) -> Run {
        let output = self.command(arguments).envs(variables.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The JSON of a run, which matches its schema.
    fn json(&self, arguments: &str, variables: &[(&str, &str)]) -> (Value, i32) {
        let run = self.run(&format!("{arguments} --json"), variables);
        (checked(&run.out), run.code)
    }
}

/// Output of `doctor --json`, which matches its schema.
fn checked(text: &str) -> Value {
    let schema: Value = serde_json::from_str(&TestEnv::empty().run("schema doctor").out).unwrap();
    let report: Value = serde_json::from_str(text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}: {text}");
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["help"].is_null(), check["status"] == "fine", "{check}");
        assert_ne!(check["help"], "", "{check}");
    }
    report
}

/// The status and the text of the check with this ID.
fn check<'a>(report: &'a Value, id: &str) -> (&'a str, &'a str, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("{id}: {report}"));
    let text = |key: &str| check[key].as_str().unwrap_or_default();
    (text("status"), text("found"), text("help"))
}

fn has(report: &Value, id: &str) -> bool {
    report["checks"].as_array().unwrap().iter().any(|check| check["id"] == id)
}

#[test]
fn what_a_project_needs_decides_the_exit_code() {
    let machine = Machine::new();
    let (report, code) = machine.json("", &[]);
    assert_eq!((code, &report["ready"], &report["configuration"]), (1, &false.into(), &"agent.json".into()));
    assert_eq!(report["required_for"], serde_json::json!(["dev", "build", "up"]));
    assert_eq!(check(&report, "configuration"), ("fine", "agent.json, 1 graph", ""));
    let (status, found, help) = check(&report, "python");
    assert_eq!((status, found), ("missing", "no Python 3.11 or later found"));
    assert!(help.contains("uv python install"), "{help}");
    let (status, found, _) = check(&report, "engine");
    assert_eq!(status, "missing");
    assert!(found.ends_with("`unix:///nowhere/docker.sock`: no such socket"), "{found}");
    assert_eq!(check(&report, "service").0, "missing");
    assert!(!has(&report, "node"), "{report}");

    let run = machine.run("", &[]);
    assert_eq!(run.code, 1);
    let lacks = "error: missing on this machine: Python, Engine";
    assert!(run.err.starts_with(lacks), "{}", run.err);
}

#[test]
fn without_a_configuration_only_named_commands_count() {
    let machine = Machine::empty();
    let (report, code) = machine.json("", &[]);
    assert_eq!((code, &report["ready"], &report["configuration"]), (0, &true.into(), &Value::Null));
    assert_eq!(check(&report, "python").0, "missing");
    assert_eq!(check(&report, "node").0, "missing");
    assert_eq!(machine.run("", &[]).err, "note: no configuration here; checking what any project needs\n");

    let (report, code) = machine.json("dev", &[]);
    assert_eq!((code, &report["ready"]), (1, &false.into()));
    assert!(!has(&report, "engine") && !has(&report, "service"), "{report}");
    let (report, code) = machine.json("deploy", &[]);
    assert_eq!(code, 1);
    assert!(has(&report, "engine") && !has(&report, "python"), "{report}");
}

#[test]
fn configurations_with_errors_are_reported() {
    let broken = VALID.replace("agent.py", "nowhere.py");
    let machine = Machine { project: TestEnv::project().file("agent.json", broken), ..Machine::new() };
    let (report, code) = machine.json("", &[]);
    assert_eq!(code, 1);
    let expected = ("missing", "agent.json has 1 error", "run `agentcli validate agent.json`");
    assert_eq!(check(&report, "configuration"), expected);

    // The server on this machine reads files outside of the dependencies, an image does not have them.
    let outside = VALID.replace(r#"["."]"#, r#"["./package"]"#);
    let project = TestEnv::project().file("agent.json", outside).file("package/requirements.txt", "");
    let machine = Machine { project, ..Machine::new() };
    let (report, _) = machine.json("", &[]);
    assert_eq!(check(&report, "configuration").0, "missing");
    assert_eq!(report["checks"][0]["needed_by"], serde_json::json!(["build", "up", "deploy"]));
    assert!(has(&report, "python"), "{report}");
    assert!(!machine.run("dev", &[]).out.contains("Configuration"));

    let missing = Machine::empty().json("-c nowhere.json", &[]);
    assert_eq!((check(&missing.0, "configuration").0, missing.1), ("missing", 1));
}

/// Everything hangs at once: an interpreter, uv, the engine and the service.
#[test]
fn nothing_that_hangs_is_waited_for() {
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("engine.sock");
    let _engine = UnixListener::bind(&socket).unwrap();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let machine =
        Machine::new().program("python3", "exec /bin/sleep 600").program("uv", "exec /bin/sleep 600");
    let engine = format!("unix://{}", socket.display());
    let address = format!("http://{}", service.local_addr().unwrap());
    let variables =
        [("DOCKER_HOST", &*engine), ("AGENT_HOST_URL", &address), ("AGENT_HOST_API_KEY", "sekrit")];
    let start = Instant::now();
    let (report, code) = machine.json("", &variables);
    assert!(start.elapsed() < PATIENCE / 2, "{:?}", start.elapsed());
    assert_eq!(code, 1);
    assert_eq!(check(&report, "python").0, "missing");
    assert_eq!(check(&report, "uv").1, "does not answer within 4 s");
    let found = check(&report, "engine").1;
    assert_eq!(found, format!("the container engine at `{engine}` did not respond within 4 s"));
    let (status, found, _) = check(&report, "service");
    assert_eq!((status, found), ("missing", "`HEAD /` timed out after 4 s"));
    assert_eq!(check(&report, "key").0, "degraded");
}

#[test]
fn an_interrupt_ends_it() {
    let machine = Machine::new();
    let started = machine.project.path("started");
    let machine = machine.program("python3", &format!("echo > {}; exec /bin/sleep 600", started.display()));
    let mut child = machine.command("").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !started.exists() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(err.starts_with("error: interrupted"), "{err}");
}

#[test]
fn ports_in_use_are_found() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let (report, code) = Machine::empty().json(&format!("dev --port {port}"), &[]);
    let (status, found, help) = check(&report, "dev-port");
    assert_eq!((status, code), ("missing", 1));
    assert!(found.contains(&port.to_string()) && found.contains("in use"), "{found}");
    assert!(help.contains("--port"), "{help}");
}

#[test]
fn proxies_and_certificates_are_checked() {
    let machine = Machine::empty();
    let (report, _) = machine.json("dev", &[("HTTPS_PROXY", "http://proxy.example:3128")]);
    assert_eq!(check(&report, "proxy"), ("fine", "HTTPS_PROXY: http://proxy.example:3128", ""));
    let (report, _) = machine.json("dev", &[("https_proxy", "http://")]);
    assert_eq!(check(&report, "proxy").1, "https_proxy is not the address of a proxy");
    fs::write(machine.project.path("ca.pem"), "no certificate").unwrap();
    let (report, _) = machine.json("dev", &[("PIP_CERT", "ca.pem"), ("REQUESTS_CA_BUNDLE", "ca.pem")]);
    let (status, found, _) = check(&report, "certificates");
    assert_eq!(status, "degraded");
    let expected = "ca.pem` (PIP_CERT, REQUESTS_CA_BUNDLE): it contains no certificate in PEM format";
    assert!(found.ends_with(expected), "{found}");
}

/// Whatever the environment, the files of the user and programs hold, no secret is shown.
#[test]
fn no_secret_is_shown() {
    let machine = Machine::new()
        .program("python3", "echo sekrit; exit 1")
        .program("docker-credential-broken", r#"echo '{ "Username": "user", "Secret": "sekrit"'"#);
    let directory = |path: &str| machine.project.path(path);
    fs::write(directory(".env"), "AGENT_HOST_URL=http://user:sekrit@127.0.0.1:1/?key=sekrit\n").unwrap();
    for config in [
        r#"{ "auths": { "https://index.docker.io/v1/": { "auth": "dXNlcjpzZWtyaXQ=" } } }"#,
        r#"{ "auths": { "https://index.docker.io/v1/": { "auth": "sekrit" "#,
        r#"{ "credsStore": "broken" }"#,
    ] {
        fs::write(directory("config.json"), config).unwrap();
        let docker_config = machine.project.path("").display().to_string();
        let variables = [
            ("AGENT_HOST_API_KEY", "sekrit"),
            ("HTTP_PROXY", "http://user:sekrit@127.0.0.1:1"),
            ("https_proxy", "user:sekrit@127.0.0.1:1"),
            ("ALL_PROXY", "socks5://sekrit@127.0.0.1:1/sekrit?sekrit#sekrit"),
            ("DOCKER_CONFIG", &docker_config),
        ];
        for arguments in ["", "-v", "--json", "--host-url http://user:sekrit@127.0.0.1:1 --api-key sekrit"] {
            let run = machine.run(arguments, &variables);
            for secret in ["sekrit", "dXNlcjpzZWtyaXQ"] {
                let is_shown = run.out.contains(secret) || run.err.contains(secret);
                assert!(!is_shown, "{arguments}: {}{}", run.out, run.err);
            }
        }
    }
}
