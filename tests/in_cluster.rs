//! `agentcli deploy --to kubernetes` in a real cluster of one node (`tests/cluster/up`). Unlike in other clusters, a
//! NetworkPolicy is not enforced, and images are loaded into the node.

#![allow(clippy::print_stderr, reason = "times are part of the result")]

mod interruptions;
mod local;
mod protocol;
mod real;
mod refusals;
mod stand_in;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Deserializer, Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::engine::{docker, hosts};
use crate::harness::{TestEnv, outside, program, until};

/// A value that is in no output, manifest or record.
const SECRET: &str = "value-of-a-secret-98765";

/// The labels of the objects of a deployment.
const OURS: &str = "app.kubernetes.io/managed-by=agentcli";

/// The kinds of these objects; what they own follows them.
const OBJECTS: &str = "services,deployments,statefulsets,jobs,configmaps,secrets,leases,ingresses,networkpolicies,\
                       poddisruptionbudgets";

/// The clients that send requests together.
const CLIENTS: u32 = 20;

/// A kubectl that keeps what is applied, and what the real one writes to stderr.
const KUBECTL: &str = r#"#!/usr/bin/env bash
errors=$(mktemp -p RECORD)
if [[ " $* " == *" apply "* && " $* " != *" --dry-run="* ]]; then
  tee -a RECORD/applied | KUBECTL "$@" 2>"$errors"
else
  KUBECTL "$@" 2>"$errors"
fi
status=$?
tee -a RECORD/errors <"$errors" >&2
exit $status
"#;

/// The directory of the cluster's programs.
fn programs() -> PathBuf {
    outside("AGENTCLI_TEST_CLUSTER").with_file_name("bin")
}

/// Held by tests for as long as they run: the one that counts failed requests of a real server runs alone, since a server
/// without processor time fails its health check.
static TURN: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// A namespace of the cluster, which is deleted at the end, and a project.
struct Place {
    namespace: String,
    env: TestEnv,
    /// What kubectl is told, and a kubectl that keeps it.
    record: TempDir,
    turn: Option<RwLockReadGuard<'static, ()>>,
}

impl Place {
    fn new(test: &str, env: TestEnv) -> Self {
        let record = TempDir::new().unwrap();
        let text = KUBECTL
            .replace("RECORD", record.path().to_str().unwrap())
            .replace("KUBECTL", programs().join("kubectl").to_str().unwrap());
        let kubectl = record.path().join("kubectl");
        fs::write(&kubectl, text).unwrap();
        fs::set_permissions(kubectl, fs::Permissions::from_mode(0o755)).unwrap();
        let place =
            Self { namespace: format!("test-{test}-{:08x}", fastrand::u32(..)), env, record, turn: None };
        place.kubectl(&["create", "namespace", &place.namespace]);
        place
    }

    /// A project of which only the names are used, since its images are stand-ins.
    fn shop(test: &str) -> Self {
        let agent = format!(
            r#"{{ "dependencies": ["."], "graphs": {{ "agent": "./agent.py:graph" }}, "env": {{
                "KEY": "{SECRET}", "LANGSMITH_PROJECT": "shop", "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS": "20"
            }} }}"#
        );
        let env = TestEnv::project().file("agent.json", agent).file("agent.py", "def graph():\n    pass\n");
        let turn = beside_others();
        let mut place = Self::new(test, env);
        place.turn = Some(turn);
        place.kubectl(&[
            "create",
            "secret",
            "generic",
            "db",
            "--from-literal=pg=x",
            "--from-literal=redis=x",
        ]);
        place
    }

    /// The output of kubectl, which has to succeed.
    fn kubectl(&self, arguments: &[&str]) -> String {
        succeeds(&mut self.kubectl_command(arguments))
    }

    fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(programs().join("kubectl"));
        command.arg("--kubeconfig").arg(outside("AGENTCLI_TEST_CLUSTER"));
        command.args(["--namespace", &self.namespace]).args(arguments);
        command
    }

    fn get(&self, what: &[&str]) -> Value {
        serde_json::from_str(&self.kubectl(&[&["get"], what, &["-o", "json"]].concat())).unwrap()
    }

    /// The objects of a kind that agentcli made.
    fn ours(&self, kinds: &str) -> Vec<Value> {
        self.get(&[kinds, "-l", OURS])["items"].as_array().unwrap().clone()
    }

    /// `agentcli deploy` with these words, in the project.
    fn command(&self, words: &str) -> Command {
        self.agentcli(&format!("deploy {words} --namespace {}", self.namespace))
    }

    fn agentcli(&self, words: &str) -> Command {
        let path = format!("{}:{}", self.record.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program());
        command.args(words.split_whitespace()).args(["--to", "kubernetes"]);
        command.env("PATH", path).env("KUBECONFIG", outside("AGENTCLI_TEST_CLUSTER"));
        command.env("DOCKER_HOST", hosts().pop().unwrap());
        command.current_dir(self.env.path("")).stdin(Stdio::null());
        command
    }

    /// `agentcli deploy` with a kubeconfig that `change` makes of the cluster's.
    fn kubeconfig(
        &self,
        name: &str,
        change: impl FnOnce(&str) -> String,
    ) -> impl Fn(&Self, &str) -> (i32, String) {
        let file = self.env.path(name);
        fs::write(&file, change(&fs::read_to_string(outside("AGENTCLI_TEST_CLUSTER")).unwrap())).unwrap();
        move |place, words| place.output(place.command(words).env("KUBECONFIG", &file), words)
    }

    fn run(&self, words: &str) -> (i32, String) {
        self.output(&mut self.command(words), words)
    }

    fn output(&self, command: &mut Command, words: &str) -> (i32, String) {
        let start = Instant::now();
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        assert!(!text.contains(SECRET), "{text}");
        eprintln!("$ agentcli deploy {words}\n{text}({:.1} s)", start.elapsed().as_secs_f64());
        (status.code().unwrap(), text)
    }

    fn succeeds(&self, words: &str) -> String {
        let (code, text) = self.run(words);
        assert_eq!(code, 0, "{words}: {text}");
        text
    }

    /// Runs what fails with a reason that is not longer than ten lines, beside the notes.
    fn fails(&self, words: &str, code: i32, reason: &str) {
        let (found, text) = self.run(words);
        assert_eq!(found, code, "{words}: {text}");
        assert!(text.contains(reason), "{words}: {text}");
        let is_note = |line: &&str| {
            ["note:", "created:", "deployment:", "revision:"].iter().any(|it| line.starts_with(it))
        };
        assert!(text.lines().filter(|line| !is_note(line)).count() <= 10, "{text}");
    }

    /// The address of a NodePort that leads to a Deployment or StatefulSet, with the labels of the deployment.
    fn expose(&self, workload: &str) -> String {
        self.kubectl(&[
            "expose",
            "deployment",
            workload,
            "--name=outside",
            "--type=NodePort",
            "--port=80",
            "--target-port=8000",
        ]);
        let port = self.get(&["service", "outside"])["spec"]["ports"][0]["nodePort"].clone();
        let node = self.get(&["nodes"]);
        let addresses = node["items"][0]["status"]["addresses"].as_array().unwrap();
        let address = addresses.iter().find(|it| it["type"] == "InternalIP").unwrap();
        format!("{}:{port}", address["address"].as_str().unwrap())
    }

    /// Checks that the cluster is as the deploys left it, and had nothing to warn of.
    fn is_as_applied(&self) {
        let errors = fs::read_to_string(self.record.path().join("errors")).unwrap_or_default();
        let warnings: Vec<&str> = errors.lines().filter(|line| line.starts_with("Warning:")).collect();
        assert!(warnings.is_empty(), "{warnings:?}");
        let applied = fs::read_to_string(self.record.path().join("applied")).unwrap();
        let mut last = std::collections::BTreeMap::new();
        for list in Deserializer::from_str(&applied).into_iter::<Value>() {
            for object in list.unwrap()["items"].as_array().unwrap() {
                last.insert(format!("{}/{}", object["kind"], object["metadata"]["name"]), object.clone());
            }
        }
        let exists = |object: &&Value| {
            let (kind, name) =
                (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            !self.kubectl(&["get", kind, name, "--ignore-not-found", "-o", "name"]).is_empty()
        };
        let items: Vec<&Value> = last.values().filter(exists).collect();
        assert!(items.len() > 4, "{items:?}");
        let file = self.record.path().join("last.json");
        fs::write(&file, json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()).unwrap();
        let file = file.to_str().unwrap();
        let difference = self.kubectl(&[
            "diff",
            "--server-side",
            "--force-conflicts",
            "--field-manager=agentcli",
            "-f",
            file,
        ]);
        assert_eq!(difference, "");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut command = self.kubectl_command(&["delete", "namespace", &self.namespace, "--wait=false"]);
        command.stdout(Stdio::null()).status().ok();
    }
}

/// What a command prints, which has to succeed.
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The body of the answer to `GET /ok`, or what came instead.
fn ask(address: &str) -> Result<String, String> {
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET /ok HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let answer = answer().map_err(|error| error.to_string())?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 ") => Ok(body.trim().to_owned()),
        _ => Err(answer),
    }
}

/// Waits for this answer: addresses of pods reach the node a moment after these are ready, or have ended.
#[track_caller]
fn answers(address: &str, expected: &str) {
    until(|| ask(address).as_deref() == Ok(expected), || format!("{:?}", ask(address)));
}

/// Sends as many requests per second until `act` is done. Returns the failures, and what `act` does.
fn under_load<T>(address: &str, rate: u32, act: impl FnOnce() -> T) -> (Vec<String>, T) {
    let is_over = AtomicBool::new(false);
    let start = Instant::now();
    let pause = Duration::from_secs(1) * CLIENTS / rate;
    let client = |number: u32| {
        let mut answers = Vec::new();
        let mut next = start + pause / CLIENTS * number;
        while !is_over.load(Ordering::Relaxed) {
            thread::sleep(next.saturating_duration_since(Instant::now()));
            let answer = ask(address);
            answers.push(
                answer.map_err(|error| format!("{error} after {:.1} s", start.elapsed().as_secs_f64())),
            );
            next += pause;
        }
        answers
    };
    let (answers, done) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        let done = act();
        is_over.store(true, Ordering::Relaxed);
        (clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>(), done)
    });
    let sent = answers.len() as f64 / start.elapsed().as_secs_f64();
    let failures: Vec<String> = answers.iter().filter_map(|answer| answer.clone().err()).collect();
    eprintln!("{} requests, {sent:.0} per second, {} failed", answers.len(), failures.len());
    assert!(sent > f64::from(rate) / 2.0, "{sent} requests per second");
    (failures, done)
}

/// Imports images of the container engine into the node, and removes `own` from the engine.
fn load(host: &str, own: &[&str], others: &[&str]) {
    let file = NamedTempFile::new().unwrap();
    docker(host, &[&["save", "--output", file.path().to_str().unwrap()], own, others].concat());
    import(File::open(file.path()).unwrap());
    if !own.is_empty() {
        docker(host, &[&["image", "rm"], own].concat());
    }
}

fn import(archive: File) {
    let mut command = ctr();
    succeeds(command.args(["images", "import", "-"]).stdin(archive));
}

/// The client of the node's container runtime.
fn ctr() -> Command {
    let socket = outside("AGENTCLI_TEST_CLUSTER").with_file_name("data").join("containerd.sock");
    let mut command = Command::new("ctr");
    command.arg("--address").arg(socket).args(["--namespace", "k8s.io"]);
    command
}

/// Replaces `old` in a file that has it.
fn replace(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(old), "{}", file.display());
    fs::write(file, text.replace(old, new)).unwrap();
}
