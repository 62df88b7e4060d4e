//! `agentcli up` and `down` on a real engine, with real databases.

mod faults;
mod interrupts;
mod life;
mod local;
mod options;
mod protocol;
mod pull;
mod servers;
mod signals;
mod watch;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine::{docker, hosts};
use crate::harness::{self, PATIENCE, copy, fixtures, free_port, lines};

/// The engine that is used where nothing else is said: the first, the oldest that is supported.
fn host() -> String {
    hosts().remove(0)
}

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A project in a directory of its own, on a port of its own. Nothing is left of it.
struct Project {
    directory: TempDir,
    /// What `up` remembers.
    cache: TempDir,
    /// The engine that it runs on, and where that is reached.
    engine: String,
    host: String,
    port: u16,
    /// Of the compose project.
    name: String,
}

impl Project {
    fn new() -> Self {
        Self::on(host())
    }

    fn on(engine: String) -> Self {
        let directory = TempDir::with_prefix("agentcli-up-").unwrap();
        copy(&fixtures("databases"), directory.path());
        // The names that directories give are tested beside the function.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("agentcli-up-{}-{number}", std::process::id());
        let (cache, host) = (TempDir::new().unwrap(), engine.clone());
        Self { directory, cache, engine, host, port: free_port(), name }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn edit(&self, path: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(old), "{path} has no `{old}`:\n{text}");
        self.write(path, &text.replace(old, new));
    }

    /// Writes a file at once: nobody who watches reads half of it.
    fn write(&self, path: &str, text: &str) {
        let next = self.directory.path().with_extension("next");
        fs::write(&next, text).unwrap();
        fs::rename(next, self.path(path)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::harness::program());
        command.args(arguments).args(["--project-name", &self.name]);
        command.current_dir(self.directory.path()).env("DOCKER_HOST", &self.host);
        command.env("XDG_CACHE_HOME", self.cache.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn up_command(&self, more: &[&str]) -> Command {
        let port = self.port.to_string();
        self.command(&[&["up", "--no-pull", "--json", "--port", &port], more].concat())
    }

    /// Runs `up` to its end.
    fn up(&self, more: &[&str]) -> Ended {
        Ended::of(self.up_command(more).output().unwrap())
    }

    /// Runs `up --wait`, which has to succeed.
    fn wait(&self) -> Ended {
        let up = self.up(&["--wait"]);
        assert_eq!(up.code, 0, "{up:?}");
        up
    }

    fn start(&self, more: &[&str]) -> Running {
        Running::new(self.up_command(more).spawn().unwrap())
    }

    fn down(&self, more: &[&str]) {
        let done = self.command(&[&["down"], more].concat()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// What there is of it on the engine: containers with their state, networks, volumes.
    fn left(&self) -> Vec<String> {
        let filter = format!("label=com.docker.compose.project={}", self.name);
        let list = |arguments: &[&str]| docker(&self.host, &[arguments, &["--filter", &filter]].concat());
        let containers = list(&["ps", "-a", "--format", "{{.Names}} {{.State}}"]);
        let networks = list(&["network", "ls", "--format", "network {{.Name}}"]);
        let volumes = list(&["volume", "ls", "--format", "volume {{.Name}}"]);
        format!("{containers}{networks}{volumes}").lines().map(str::to_owned).collect()
    }

    fn running(&self) -> Vec<String> {
        self.left().into_iter().filter(|line| line.ends_with(" running")).collect()
    }

    /// Asks the server.
    fn curl(&self, arguments: &[&str], route: &str) -> Option<String> {
        let url = format!("http://127.0.0.1:{}{route}", self.port);
        let output =
            Command::new("curl").args(["-sf", "-m", "60"]).args(arguments).arg(url).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    /// Runs the graph.
    fn run(&self, input: Value) -> Value {
        let body = json!({ "assistant_id": "agent", "input": input }).to_string();
        let answer = self.curl(&["-H", "content-type: application/json", "-d", &body], "/runs/wait");
        serde_json::from_str(&answer.unwrap_or_else(|| panic!("{:?}", self.left()))).unwrap()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let image = format!("{}-langgraph-api", self.name);
        self.command(&["down", "--volumes"]).env("DOCKER_HOST", &self.engine).output().ok();
        Command::new("docker").args(["-H", &self.engine, "rmi", "-f", &image]).output().ok();
    }
}

/// A run that is over.
#[derive(Debug)]
struct Ended {
    code: i32,
    events: Vec<Value>,
    talk: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        let text = String::from_utf8(output.stdout).unwrap();
        Self {
            code: output.status.code().unwrap(),
            events: text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            talk: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// What was done to the container of a service.
    fn changes(&self, service: &str) -> Vec<&str> {
        let of = |event: &&Value| event["event"] == "service" && event["service"] == service;
        self.events.iter().filter(of).map(|event| event["change"].as_str().unwrap()).collect()
    }
}

/// A run that goes on; lines that are no JSON come as text.
pub(crate) struct Running {
    process: Child,
    lines: Receiver<String>,
    seen: Vec<Value>,
}

impl Running {
    pub(crate) fn new(mut process: Child) -> Self {
        let lines = lines(process.stdout.take().unwrap());
        Self { process, lines, seen: Vec::new() }
    }

    /// Waits for the next event that is like this.
    pub(crate) fn until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                let talk = self.talk();
                panic!("{:#?}\n{talk}", self.seen);
            };
            let event: Value = serde_json::from_str(&line).unwrap_or(Value::String(line));
            self.seen.push(event.clone());
            if is(&event) {
                return event;
            }
        }
    }

    fn until_event(&mut self, name: &str) -> Value {
        self.until(|event| event["event"] == name)
    }

    /// Ends it, and reads what it said.
    fn talk(&mut self) -> String {
        self.process.kill().ok();
        said(&mut self.process)
    }

    pub(crate) fn signal(&self, signal: &str) {
        Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn code(&mut self) -> i32 {
        let Self { process, seen, .. } = self;
        harness::ended(process, |process| format!("{seen:#?}\n{}", said(process))).code().unwrap_or(-1)
    }
}

/// What a process that has ended said.
fn said(process: &mut Child) -> String {
    let mut text = String::new();
    process.stderr.take().map(|mut err| err.read_to_string(&mut text));
    text
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
