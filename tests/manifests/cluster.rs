//! The manifests in other programs: the schemas of Kubernetes, a parser of YAML 1.1, and Podman, which runs Deployments.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::Value;
use tempfile::TempDir;

use super::{manifests, text};
use crate::harness::{TestEnv, fixtures, python, until};

/// The oldest version of Kubernetes with sidecars that are enabled by default, which the Job of the migrations needs.
const OLDEST: &str = "1.29.0";
/// The newest version that the schemas are there for.
const NEWEST: &str = "1.37.0";

#[test]
fn the_schemas_of_kubernetes_accept_every_field() {
    let every = fs::read_to_string(fixtures("kubernetes").join("every-field.json")).unwrap();
    let config =
        r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "env": { "KEY": "a: b" } }"#;
    let env = TestEnv::project().file("agent.json", config).file("resources.json", every);
    for arguments in [
        "",
        "--with-secrets --resources resources.json --executor-image registry.example/executor:1",
        "--resource min_scale=0 --secret-reference POSTGRES_URI=db/uri --secret-reference REDIS_URI=db/redis",
    ] {
        let (text, objects) = manifests(&env, arguments);
        let file = env.path("k8s.yaml");
        fs::write(&file, text).unwrap();
        for version in [OLDEST, NEWEST] {
            let run = Command::new(python())
                .args(["-m", "kubernetes_validate", "--strict", "-k", version])
                .arg(&file)
                .output()
                .unwrap();
            let said =
                String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "{arguments} in {version}: {said}");
            assert_eq!(said.matches(" passed ").count(), objects.len(), "{said}");
        }
    }
}

/// All in one file: Python is slow to start.
#[test]
fn a_parser_of_yaml_1_1_reads_what_was_meant() {
    let mut runner = TestRunner::deterministic();
    let values: Vec<Value> =
        (0..400).map(|_| text::object().new_tree(&mut runner).unwrap().current()).collect();
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("k8s.yaml");
    fs::write(&file, text::written(&values, "a comment".to_owned())).unwrap();
    let script = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1], encoding='utf-8')))))";
    let run = Command::new(python()).args(["-c", script]).arg(&file).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let read: Vec<Value> = serde_json::from_slice(&run.stdout).unwrap();
    for (read, meant) in read.iter().zip(text::meant(&values)) {
        assert_eq!(*read, meant);
    }
    assert_eq!(read.len(), values.len());
}

/// Podman with a storage of its own.
struct Podman {
    directory: TempDir,
}

impl Podman {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        // Podman raises the limits of processes by default, which only some machines allow, and crun does not run with
        // both versions of control groups.
        let settings = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n\
                        [engine]\nruntime = \"runc\"\n";
        fs::write(directory.path().join("containers.conf"), settings).unwrap();
        Self { directory }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let path = |name: &str| self.directory.path().join(name);
        let mut command = Command::new("podman");
        command.arg("--root").arg(path("root")).arg("--runroot").arg(path("run")).args(arguments);
        command.env("CONTAINERS_CONF", path("containers.conf"));
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let run = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&run.stderr));
        said
    }

    /// A secret in the form that Podman reads from Secrets: values in base64.
    fn secret(&self, name: &str, json: &str) {
        let file = self.directory.path().join(name);
        fs::write(&file, json).unwrap();
        self.run(&["secret", "create", name, file.to_str().unwrap()]);
    }

    /// An image with a shell, which prints its environment and waits.
    fn image(&self, names: &[&str]) {
        let busybox = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
        let root = self.directory.path().join("image");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::copy(busybox.expect("busybox is not installed; run tests/run"), root.join("bin/sh")).unwrap();
        let tar = self.directory.path().join("image.tar");
        let words = [OsStr::new("-cf"), tar.as_ref(), "-C".as_ref(), root.as_ref(), "bin".as_ref()];
        assert!(Command::new("tar").args(words).status().unwrap().success());
        let command = r#"CMD ["sh", "-c", "env; echo started; sleep 600 & wait"]"#;
        for name in names {
            self.run(&[
                "import",
                "--change",
                "ENV PATH=/bin",
                "--change",
                command,
                tar.to_str().unwrap(),
                name,
            ]);
        }
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        for arguments in
            [["pod", "rm", "--all", "--force", "--time", "0"].as_slice(), &["rmi", "--all", "--force"]]
        {
            self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
        }
    }
}

/// Podman 4 runs Deployments with their ConfigMaps and Secrets, and ignores objects of other kinds.
#[test]
fn podman_runs_the_deployments() {
    let podman = Podman::new();
    podman.image(&["localhost/server:1", "docker.io/library/redis:6"]);
    podman.secret("agent-env", r#"{ "KEY": "YTogJChIT01FKSAiYiI=" }"#);
    podman.secret("agent-postgres", r#"{ "password": "c2VzYW1l" }"#);
    let config =
        r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "env": { "KEY": "x" } }"#;
    let env = TestEnv::project().file("agent.json", config);
    let run = env.run("manifests k8s.yaml --name agent --image localhost/server:1");
    assert_eq!(run.code, 0, "{}", run.err);

    podman.run(&["kube", "play", env.path("k8s.yaml").to_str().unwrap()]);
    let log = || podman.run(&["logs", "agent-pod-0-server"]);
    until(|| log().contains("started"), log);
    let log = log();
    for variable in [
        "KEY=a: $(HOME) \"b\"",
        "PORT=8000",
        "POSTGRES_PASSWORD=sesame",
        "REDIS_URI=redis://agent-redis:6379",
        "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS=180",
    ] {
        assert!(log.lines().any(|line| line == variable), "{variable} in {log}");
    }
    let names = podman.run(&["ps", "--format", "{{.Names}}"]);
    assert!(names.contains("agent-redis-pod-0-redis"), "{names}");
}
