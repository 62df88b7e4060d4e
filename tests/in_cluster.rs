//! `agentcli deploy --to kubernetes` in a real cluster of one node (`tests/cluster/up`), with the images that the tests of the
//! engines use. Unlike in other clusters, a NetworkPolicy is not enforced, and images are loaded into the node.

mod revisions;
mod stand_in;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::{NamedTempFile, TempDir};

use crate::engine::{docker, hosts};

use crate::harness::{Output, TestEnv, copy, fixtures, outside, until};

/// The name of the deployment in each namespace.
const NAME: &str = "hello";

/// The directory of the cluster's kubectl.
fn programs() -> PathBuf {
    outside("AGENTCLI_TEST_CLUSTER").with_file_name("bin")
}

/// The variables with which agentcli finds kubectl and the cluster.
fn variables() -> [(&'static str, String); 2] {
    let path = std::env::join_paths([programs(), "/usr/bin".into(), "/bin".into()]).unwrap();
    let config = outside("AGENTCLI_TEST_CLUSTER");
    [("PATH", path.into_string().unwrap()), ("KUBECONFIG", config.into_os_string().into_string().unwrap())]
}

/// A namespace of the cluster, and a project that is deployed to it.
struct Stage {
    directory: TempDir,
    namespace: String,
}

impl Stage {
    fn new() -> Self {
        let stage =
            Self { directory: TempDir::new().unwrap(), namespace: format!("test-{:08x}", fastrand::u32(..)) };
        copy(&fixtures("valid").join("hello"), stage.directory.path());
        stage.kubectl(&["create", "namespace", &stage.namespace], "");
        stage
    }

    /// The project, with kubectl.
    fn env(&self) -> TestEnv {
        let env = TestEnv::inside(self.directory.path());
        variables().iter().fold(env, |env, (name, value)| env.variable(name, value))
    }

    /// `deploy OPTIONS`, to the namespace.
    fn deploy(&self, options: &str) -> Output {
        let namespace = &self.namespace;
        self.env()
            .run(&format!("deploy --to kubernetes --namespace {namespace} --name {NAME} --yes {options}"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(programs().join("kubectl"));
        command.arg("--kubeconfig").arg(outside("AGENTCLI_TEST_CLUSTER"));
        command
    }

    /// The output of kubectl, which has to succeed.
    fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let mut command = self.command();
        command.args(["--namespace", &self.namespace]).args(arguments);
        run(command, input)
    }

    /// An object of the namespace.
    fn get(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.kubectl(&[&["get", "--output", "json"], arguments].concat(), "")).unwrap()
    }

    /// Waits for a greeting of the server, by way of the API server, which learns of pods a moment after they are ready.
    fn greets(&self, greeting: &str) {
        let path = format!("/api/v1/namespaces/{}/services/{NAME}:80/proxy/runs/wait", self.namespace);
        let body = self.directory.path().join("run.json");
        fs::write(&body, r#"{"assistant_id": "agent", "input": {"name": "Ada"}}"#).unwrap();
        let answer = || {
            let output = self.command().args(["create", "--raw", &path, "-f"]).arg(&body).output().unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            answer["greeting"].as_str().map_or_else(|| format!("{output:?}"), str::to_owned)
        };
        until(|| answer() == greeting, answer);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut command = self.command();
        let deleted =
            command.args(["delete", "namespace", &self.namespace, "--wait=false"]).stdout(Stdio::null());
        deleted.status().ok();
    }
}

/// Runs a command with `input`, and returns what it prints.
fn run(mut command: Command, input: &str) -> String {
    use std::io::Write as _;
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Two images of the project, of which the second one has another greeting, and those of the databases, all in the node.
fn images() -> &'static [String; 2] {
    static IMAGES: OnceLock<[String; 2]> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let hosts = hosts();
        let host = hosts.last().unwrap();
        let build = |number: u32, greeting: &str| {
            let env = TestEnv::empty().variable("DOCKER_HOST", host);
            copy(&fixtures("valid").join("hello"), &env.path("."));
            replace(&env.path("src/hello/graph.py"), "Hello", greeting);
            let tag = format!("agentcli.test/hello:{number}-{:08x}", fastrand::u32(..));
            let built = env.run(&format!("build --tag {tag} --no-pull"));
            assert_eq!(built.code, 0, "{}", built.err);
            tag
        };
        let tags = [build(1, "Hello"), build(2, "Welcome")];
        let all = [&tags[0], &tags[1], "pgvector/pgvector:pg16", "redis:6"];
        let file = NamedTempFile::new().unwrap();
        docker(host, &[&["save", "--output", file.path().to_str().unwrap()], &all[..]].concat());
        load(file.path());
        docker(host, &["image", "rm", &tags[0], &tags[1]]);
        tags
    })
}

/// Loads images into the container runtime of the node.
fn load(archive: &Path) {
    let socket = outside("AGENTCLI_TEST_CLUSTER").with_file_name("data/containerd.sock");
    let mut command = Command::new("ctr");
    command.arg("--address").arg(socket).args(["--namespace", "k8s.io", "images", "import"]).arg(archive);
    run(command, "");
}

/// Replaces `old` in a file that has it.
fn replace(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(old), "{}", file.display());
    fs::write(file, text.replace(old, new)).unwrap();
}
