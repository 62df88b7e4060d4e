//! The settings of a build, as of `docker build`: arguments, labels, hosts, network, secrets and SSH agents.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Copy, found_in};
use crate::engine::{BASE, docker, hosts};
use crate::harness::{Output, TestEnv, until};

/// A project whose steps no cache holds: each has a number that no earlier build has had.
fn project(lines: &[String]) -> Copy {
    let fresh = format!(" && : {}", fastrand::u64(..));
    let end = |line: &String| if line.starts_with("RUN") { &*fresh } else { "" };
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}{}", end(line))).collect();
    let copy = Copy::of("hello");
    copy.configure(&json!({ "dockerfile_lines": lines }));
    copy
}

/// Builds it, with variables beside those of a test.
fn build(copy: &Copy, host: &str, tag: &str, variables: &[(&str, &str)], options: &[&str]) -> Output {
    let mut env = TestEnv::inside(copy.directory.path()).variable("DOCKER_HOST", host);
    for (name, value) in variables {
        env = env.variable(name, value);
    }
    env.run_with(&[&["build", "--no-pull", "--progress", "plain", "-v", "-t", tag], options].concat())
}

fn tag(name: &str) -> String {
    format!("agentcli-test-settings-{name}-{}", std::process::id())
}

#[test]
fn arguments_labels_hosts_and_network() {
    for host in hosts() {
        let tag = tag("plain");
        let copy = project(&[
            "ARG WORD\nARG OTHER=unset\nARG FROM_HERE".to_owned(),
            "RUN test \"$WORD $OTHER $FROM_HERE\" = 'a b&c=d unset here'".to_owned(),
            "RUN grep -q '10.9.8.7.*db.example' /etc/hosts && grep -q 'fd00::7.*six.example' /etc/hosts"
                .to_owned(),
        ]);
        let options = [
            "--build-arg=WORD=a b&c=d",
            "--build-arg=FROM_HERE",
            "--label=one=1=2",
            "--label=two",
            "--add-host=db.example:10.9.8.7",
            "--add-host=six.example=[fd00::7]",
        ];
        let done = build(&copy, &host, &tag, &[("FROM_HERE", "here")], &options);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(!done.err.contains("has no effect"), "{}", done.err);
        let labels: Value =
            serde_json::from_str(&docker(&host, &["inspect", "-f", "{{json .Config.Labels}}", &tag]))
                .unwrap();
        assert_eq!((&labels["one"], &labels["two"]), (&json!("1=2"), &json!("")));
        docker(&host, &["rmi", "-f", &tag]);

        // The packages of the project would need the network.
        let copy = project(&["RUN test \"$(ls /sys/class/net)\" = lo".to_owned(), "RUN exit 7".to_owned()]);
        let failed = build(&copy, &host, &tag, &[], &["--network=none"]);
        assert!(failed.err.contains("the command exited with code 7"), "{}", failed.err);
    }
}

#[test]
fn secrets_are_mounted_and_nowhere_else() {
    for host in hosts() {
        let tag = tag("secret");
        let secret = format!("s3cr3t-{:016x}", fastrand::u64(..));
        let copy = project(&[
            format!("RUN --mount=type=secret,id=file test \"$(cat /run/secrets/file)\" = {}", &secret[..6]),
            "RUN --mount=type=secret,id=WHOLE,required=true wc -c </run/secrets/WHOLE".to_owned(),
        ]);
        let file = TempDir::new().unwrap();
        fs::write(file.path().join("value"), &secret[..6]).unwrap();
        let source = format!("--secret=id=file,src={}", file.path().join("value").display());

        let missing = build(&copy, &host, &tag, &[], &[&source]);
        assert_eq!(missing.code, 1, "{}", missing.err);
        assert!(missing.err.contains("WHOLE"), "{}", missing.err);

        let cache = TempDir::new().unwrap();
        let variables = [("WHOLE", &*secret), ("XDG_CACHE_HOME", cache.path().to_str().unwrap())];
        let done = build(&copy, &host, &tag, &variables, &[&source, "--secret=id=WHOLE"]);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(done.err.contains("23"), "the step prints its length: {}", done.err);
        let history = docker(&host, &["history", "--no-trunc", &tag]);
        let image = docker(&host, &["inspect", &tag]);
        for text in [&done.out, &done.err, &history, &image] {
            assert!(!text.contains(&secret), "{text}");
        }
        let found = found_in(&host, &tag, BASE, &[&secret, "/run/secrets/whole"]);
        assert_eq!(found, ["/run/secrets/whole"], "the step is in the history");
        let found = Command::new("grep").args(["-r", "-l", &secret]).arg(cache.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "");
        docker(&host, &["rmi", "-f", &tag]);
    }
}

/// An SSH agent with one key.
struct Agent {
    process: Child,
    directory: TempDir,
}

impl Agent {
    fn start(comment: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(directory.path()).env("SSH_AUTH_SOCK", "agent.sock");
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        assert!(
            run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", "key"])
                .status()
                .unwrap()
                .success()
        );
        let process = run("ssh-agent", &["-D", "-a", "agent.sock"]).spawn().unwrap();
        let is_there = || run("ssh-add", &["key"]).status().unwrap().success();
        until(is_there, || "the agent does not start".to_owned());
        Self { process, directory }
    }

    fn socket(&self) -> String {
        self.directory.path().join("agent.sock").display().to_string()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn ssh_agents_are_forwarded() {
    // Asks the agent for its keys, as `ssh-add -l` does.
    let list = "python3 -c \"import os,socket; s=socket.socket(socket.AF_UNIX); s.connect(os.environ['SSH_AUTH_SOCK']); \
                s.sendall(bytes([0,0,0,1,11])); print(s.recv(9999))\"";
    let (first, second) = (Agent::start("first-key"), Agent::start("second-key"));
    for host in hosts() {
        let tag = tag("ssh");
        let copy = project(&[
            format!("RUN --mount=type=ssh {list} | grep -q first-key"),
            format!("RUN --mount=type=ssh,id=deploy {list} | grep -q second-key"),
        ]);
        let named = format!("--ssh=deploy={}", second.socket());
        let done =
            build(&copy, &host, &tag, &[("SSH_AUTH_SOCK", &first.socket())], &["--ssh=default", &named]);
        assert_eq!(done.code, 0, "{}", done.err);
        docker(&host, &["rmi", "-f", &tag]);
    }
}
