//! Machines that lack something, which are containers, and this one, which lacks nothing.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{check, checked, has};
use crate::engine::{docker, hosts};
use crate::harness::{VALID, copy, fixtures, free_port, python};
use crate::host::service::{Host, KEY};

/// Debian 12 with Python, uv and the server.
const PYTHON: &str = "langchain/langgraph-api:3.11";

/// Debian 13 without them.
const BARE: &str = "redis:6";

/// Listens on the default socket of the engine, and never answers.
const HUNG_ENGINE: &str = r#"
python3 -c "
import os, socket, time
it = socket.socket(socket.AF_UNIX)
it.bind('/var/run/docker.sock')
os.chmod('/var/run/docker.sock', 0o600)
it.listen()
time.sleep(600)" &
until [ -S /var/run/docker.sock ]; do sleep 0.1; done
"#;

/// A container, removed when the test ends.
struct Container {
    engine: String,
    id: String,
}

impl Drop for Container {
    fn drop(&mut self) {
        Command::new("docker").args(["-H", &self.engine, "rm", "-f", "-v", &self.id]).output().ok();
    }
}

/// Runs `script` in the directory of a valid Python project, in a new container with this program; returns the JSON that it
/// prints last.
fn machine(image: &str, options: &[&str], script: &str) -> Value {
    in_time(|| output(image, options, script))
}

/// The report of the first of at most ten runs in which no check times out: other tests keep the machine busy.
fn in_time(doctor: impl Fn() -> String) -> Value {
    const TIMEOUTS: [&str; 4] =
        ["does not answer within", "did not respond within", "no answer within", "timed out after"];
    let mut outputs = (0..10).map(|_| doctor());
    let output = outputs.find(|output| !TIMEOUTS.iter().any(|timeout| output.contains(timeout)));
    checked(&output.expect("a check times out in each of ten runs"))
}

/// The JSON that `script` prints last, in a new container.
fn output(image: &str, options: &[&str], script: &str) -> String {
    let engine = hosts().remove(0);
    let project =
        "touch requirements.txt && echo 'graph = object()' >agent.py && printf %s \"$CONFIG\" >agent.json";
    let script = format!("set -e\n{project}\n{script}");
    let config = format!("CONFIG={VALID}");
    let create = ["create", "--workdir", "/project", "--env", &config, "--entrypoint", "sh"];
    let arguments = [&create, options, &[image, "-c", "exec timeout 180 sh -c \"$0\"", &script]].concat();
    let id = docker(&engine, &arguments).trim().to_owned();
    let container = Container { engine, id };
    let target = format!("{}:/usr/local/bin/agentcli", container.id);
    docker(&container.engine, &["cp", crate::harness::program(), &target]);
    if script.contains("agentcli host") {
        let program = format!("{}-host", crate::harness::program());
        docker(&container.engine, &["cp", &program, &format!("{target}-host")]);
    }
    let started = Command::new("docker")
        .args(["-H", &container.engine, "start", "-a", &container.id])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&started.stdout), text(&started.stderr));
    let line = out.lines().rfind(|line| line.starts_with('{'));
    line.unwrap_or_else(|| panic!("{out}{err}")).to_owned()
}

#[test]
fn without_python() {
    let report = machine(BARE, &[], "agentcli doctor dev --json");
    let (status, found, help) = check(&report, "python");
    assert_eq!((status, found), ("missing", "no Python 3.11 or later found"));
    assert!(help.starts_with("install one"), "{help}");
    assert_eq!(check(&report, "uv").0, "degraded");
    assert_eq!(check(&report, "dev-port"), ("fine", "2024 is free", ""));
    assert_eq!(report["ready"], false);
}

#[test]
fn without_certificates() {
    let report = machine(BARE, &[], "rm -r /etc/ssl; agentcli doctor deploy --json");
    let (status, found, help) = check(&report, "certificates");
    assert_eq!(status, "missing");
    assert!(found.starts_with("HTTPS cannot be used: no CA certificates"), "{found}");
    assert!(help.contains("ca-certificates"), "{help}");
}

#[test]
fn without_the_venv_module() {
    // As on Debian without python3-venv.
    let script = "echo not-installed >requirements.txt; rm -r /usr/bin/uv /usr/lib/python3.11/ensurepip\n\
                  if python3 -m venv /tmp/venv; then exit 1; fi\n\
                  agentcli doctor dev --json";
    let report = machine(PYTHON, &[], script);
    assert_eq!(check(&report, "python").0, "fine");
    let (status, found, help) = check(&report, "venv");
    assert_eq!(status, "missing");
    assert!(found.ends_with("cannot create virtual environments with pip"), "{found}");
    assert!(help.contains("python3-venv"), "{help}");
    assert_eq!(report["ready"], false);

    // uv needs no such module.
    let report = machine(PYTHON, &[], "echo not-installed >requirements.txt; agentcli doctor dev --json");
    assert_eq!(check(&report, "uv").0, "fine");
    assert!(!has(&report, "venv"), "{report}");
    assert_eq!(report["ready"], true);
}

#[test]
fn without_rights_to_use_the_engine() {
    let doctor =
        "HOME=/tmp setpriv --reuid=65534 --regid=65534 --clear-groups agentcli doctor dev build --json";
    let report = machine(PYTHON, &[], &format!("{HUNG_ENGINE}{doctor}"));
    let (status, found, help) = check(&report, "engine");
    assert_eq!(status, "missing");
    assert!(found.ends_with("`unix:///var/run/docker.sock`: permission denied"), "{found}");
    assert!(help.contains("usermod -aG docker"), "{help}");
    // Nor may it write to the project.
    let (status, found, _) = check(&report, "disk");
    assert_eq!((status, found), ("missing", "cannot write to `/project`: permission denied"));
}

#[test]
fn with_an_engine_that_hangs() {
    let report = checked(&output(PYTHON, &[], &format!("{HUNG_ENGINE}agentcli doctor build --json")));
    let (status, found, help) = check(&report, "engine");
    let expected = "the container engine at `unix:///var/run/docker.sock` did not respond within 4 s";
    assert_eq!((status, found), ("missing", expected));
    assert!(help.contains("docker version"), "{help}");
}

#[test]
fn with_ports_in_use() {
    let listen = "python3 -m http.server 2024 & until agentcli doctor dev --json | grep -q 'in use'; do sleep 0.1; done";
    let report = machine(PYTHON, &[], &format!("{listen}\nagentcli doctor dev --json"));
    let (status, found, help) = check(&report, "dev-port");
    assert_eq!(status, "degraded");
    assert!(
        found.starts_with("2024 is in use by python3") && found.ends_with("dev would use 2025"),
        "{found}"
    );
    assert!(help.contains("--port"), "{help}");

    let report = machine(PYTHON, &[], &format!("{listen}\nagentcli doctor dev --port 2024 --json"));
    assert_eq!((check(&report, "dev-port").0, &report["ready"]), ("missing", &false.into()));
}

#[test]
fn with_a_key_that_is_refused() {
    let serve = "right=$(agentcli host keys create --data /tmp/data)\n\
                 agentcli host serve --data /tmp/data & export AGENT_HOST_URL=http://127.0.0.1:8900\n\
                 doctor() { AGENT_HOST_API_KEY=$1 agentcli doctor deploy --json; }\n\
                 until doctor $right | grep -q accepted; do sleep 0.1; done";
    let report = machine(BARE, &[], &format!("{serve}\ndoctor wrong"));
    assert_eq!(
        check(&report, "service"),
        ("fine", "http://127.0.0.1:8900, AGENT_HOST_URL in the environment", "")
    );
    let (status, found, help) = check(&report, "key");
    assert_eq!(status, "missing");
    assert!(found.starts_with("`GET /v2/deployments` was denied"), "{found}");
    assert!(help.contains("AGENT_HOST_API_KEY"), "{help}");
}

#[test]
fn with_a_full_disk() {
    let report = machine(PYTHON, &["--tmpfs", "/project:size=8m"], "agentcli doctor dev --json");
    let (status, found, help) = check(&report, "disk");
    assert_eq!(status, "missing");
    assert!(found.ends_with("MB free at `/project`; 500 MB are needed"), "{found}");
    assert!(help.starts_with("free some space"), "{help}");
    assert_eq!(report["ready"], false);
}

/// How full its disks are is another matter.
#[test]
fn this_machine_lacks_nothing() {
    let service = Host::start(|_| {});
    let tools = python().parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path))).unwrap();
    for (fixture, own) in [("hello", ["python", "uv"]), ("javascript", ["node", "package-manager"])] {
        let project = TempDir::new().unwrap();
        copy(&fixtures("valid").join(fixture), project.path());
        for engine in hosts() {
            let doctor = || {
                let output = Command::new(crate::harness::program())
                    .args(["doctor", "dev", "build", "up", "deploy", "--json", "--host-url", &service.url()])
                    .args(["--port", &free_port().to_string()])
                    .current_dir(project.path())
                    .envs([
                        ("PATH", &*path),
                        ("DOCKER_HOST", engine.as_ref()),
                        ("AGENT_HOST_API_KEY", KEY.as_ref()),
                    ])
                    .output();
                String::from_utf8(output.unwrap().stdout).unwrap()
            };
            let report = in_time(doctor);
            let mut checks = report["checks"].as_array().unwrap().clone();
            checks.retain(|check| !check["id"].as_str().unwrap().ends_with("disk"));
            for id in own.iter().chain(&[
                "configuration",
                "dev-port",
                "engine",
                "buildkit",
                "up-port",
                "registry",
                "service",
                "key",
                "clock",
                "proxy",
                "certificates",
            ]) {
                assert!(has(&report, id), "{fixture}: {id}: {report}");
            }
            checks.retain(|check| check["status"] != json!("fine"));
            assert_eq!(checks, [] as [Value; 0], "{fixture} on {engine}");
        }
    }
}
