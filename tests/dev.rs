//! `agentcli dev` with the real server, the real installers and real processes.

mod contacts;
mod debugger;
mod failures;
mod guard;
mod handover;
mod invoke;
mod javascript;
mod lifecycle;
mod locks;
mod new;
mod options;
mod output;
mod packages;
mod page;
mod provision;
mod python;
mod reload;
mod signals;
mod standby;
mod wheel;
mod workspaces;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use agentcli::compiler::server::local;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{self, PATIENCE, copy, fixtures, free_port, python, until};

/// Marks the processes of one test: every one that it started inherits this variable.
const MARK: &str = "AGENTCLI_TEST_MARK";

/// A virtual environment with the server, and with its bytecode, so that servers start quickly.
static SERVER: LazyLock<TempDir> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let uv = |arguments: &[&str]| {
        let mut uv = Command::new(python().with_file_name("uv"));
        let output = uv.args(arguments).current_dir(directory.path()).env_remove("VIRTUAL_ENV").output();
        let output = output.unwrap();
        assert!(output.status.success(), "uv {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // With pip, for projects that install with it.
    uv(&["venv", "--seed", "python"]);
    let packages: Vec<String> =
        local::SERVER.iter().map(|(name, version)| format!("{name}=={version}")).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    uv(&[&["pip", "install", "--compile-bytecode", "--python", "python/bin/python"], &packages[..]].concat());
    directory
});

/// A project in a directory of its own.
struct Project {
    /// What is run.
    program: PathBuf,
    directory: TempDir,
    variables: Vec<(String, String)>,
}

impl Project {
    /// A copy of a folder of `fixtures/valid`.
    fn of(fixture: &str) -> Self {
        let directory = TempDir::new().unwrap();
        copy(&fixtures("valid").join(fixture), directory.path());
        Self { program: crate::harness::program().into(), directory, variables: Vec::new() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Replaces a part of a file.
    fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{path} has no `{old}`:\n{text}");
        self.write(path, text.replace(old, new));
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Everything in it, with its contents, but for what the program and the server keep there.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let ours = [".agentcli", ".langgraph_api", "__pycache__"];
        let mut found = Vec::new();
        let mut open = vec![self.directory.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                if ours.contains(&name.as_str()) || name.ends_with(".egg-info") {
                    continue;
                }
                match entry.path() {
                    path if path.is_dir() => open.push(path),
                    path => found.push((path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        found.sort();
        found
    }

    /// Whether there is bytecode of Python below `path`.
    fn has_bytecode(&self, path: &str) -> bool {
        let mut open = vec![self.path(path)];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.extension().is_some_and(|extension| extension == "pyc") {
                    return true;
                }
                if entry.is_dir() && !entry.is_symlink() {
                    open.push(entry);
                }
            }
        }
        false
    }

    /// The program in this project, with uv on the PATH and nothing of an active environment.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("dev").args(arguments).current_dir(self.directory.path()).env("PATH", path_with_uv());
        command.env("PYENV_ROOT", "/nowhere").env_remove("PYENV_VERSION");
        command.env_remove("VIRTUAL_ENV").envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env(MARK, self.directory.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The program in this project, for another command.
    fn program_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.directory.path()).env(MARK, self.directory.path()).stdin(Stdio::null());
        command
    }

    /// The same, on a free port unless the arguments have another.
    fn command_on_own_port(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        if !arguments.contains(&"--port") {
            command.args(["--port", &free_port().to_string()]);
        }
        command
    }

    /// Runs it to its end, on a port of its own: exit code, stdout and stderr.
    fn fails(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command_on_own_port(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Starts it on a port of its own, with events as JSON.
    fn start(&self, arguments: &[&str]) -> Dev {
        let all = [&["--json", "--no-browser"], arguments].concat();
        Dev::new(self.command_on_own_port(&all).spawn().unwrap())
    }

    /// Starts it and waits until it is ready. Its environment has the server already, so that only the project's packages
    /// are installed.
    fn ready(&self, arguments: &[&str]) -> Dev {
        self.add_server();
        self.ready_from_nothing(arguments)
    }

    /// Links the files of [`SERVER`] into the environment of a Python project that has none. Python and installers replace
    /// files, and do not write into them.
    fn add_server(&self) {
        let environment = self.path(".agentcli/python");
        let has = |file| self.path(file).exists();
        if environment.exists() || !has("agent.json") || !(has("pyproject.toml") || has("requirements.txt")) {
            return;
        }
        fs::create_dir_all(environment.parent().unwrap()).unwrap();
        let status =
            Command::new("cp").arg("-al").arg(SERVER.path().join("python")).arg(environment).status();
        assert!(status.unwrap().success());
    }

    /// Starts it and waits until it is ready.
    fn ready_from_nothing(&self, arguments: &[&str]) -> Dev {
        let mut dev = self.start(arguments);
        dev.until("ready");
        dev
    }

    /// How many processes there are that belong to this test, after a while for them to end.
    fn processes(&self) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            let left = processes(self.directory.path());
            if left.is_empty() || Instant::now() > deadline {
                return left;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Project {
    /// Nothing may be left of a test that failed in the midst.
    fn drop(&mut self) {
        for process in processes(self.directory.path()) {
            let id = process.split(' ').next().unwrap_or_default().to_owned();
            Command::new("kill").args(["-9", &id]).status().ok();
        }
    }
}

/// The PATH with the programs of the tests' Python, such as uv, after all others.
pub(crate) fn path_with_uv() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let tools = python().parent().unwrap().to_owned();
    env::join_paths(env::split_paths(&path).chain([tools])).unwrap()
}

/// A running `agentcli dev --json`.
pub(crate) struct Dev {
    process: Child,
    events: Receiver<Value>,
    /// Every event so far.
    seen: Vec<Value>,
    /// Its stderr, and the lines of its server.
    talk: Arc<Mutex<String>>,
}

impl Dev {
    pub(crate) fn new(mut process: Child) -> Self {
        let (sender, events) = mpsc::channel();
        let out = BufReader::new(process.stdout.take().unwrap());
        let talk = Arc::new(Mutex::new(String::new()));
        let logged = talk.clone();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if event["event"] == "log" {
                    *logged.lock().unwrap() += &format!("{}\n", event["line"].as_str().unwrap());
                }
                sender.send(event).ok();
            }
        });
        let (heard, mut err) = (talk.clone(), process.stderr.take().unwrap());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = err.read(&mut bytes) {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Self { process, events, seen: Vec::new(), talk }
    }

    /// Waits for the next event of this name.
    pub(crate) fn until(&mut self, name: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(left) else {
                panic!("no {name}: {:#?}\n{}", self.seen, self.talk.lock().unwrap());
            };
            self.seen.push(event.clone());
            if event["event"] == name {
                return event;
            }
        }
    }

    /// Waits for a line of stdout that is no event, and begins with `start`.
    pub(crate) fn until_line(&mut self, start: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.events.recv_timeout(left) else { panic!("no {start}: {}", self.talk()) };
            if line.as_str().is_some_and(|line| line.starts_with(start)) {
                return;
            }
        }
    }

    /// The events that come within a while.
    fn within(&mut self, while_: Duration) -> Vec<Value> {
        let deadline = Instant::now() + while_;
        let mut found = Vec::new();
        while let Ok(event) = self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.seen.push(event.clone());
            found.push(event);
        }
        found
    }

    /// Waits until it says `text`. What it says comes another way than its events, and may come later.
    pub(crate) fn hear(&self, text: &str) {
        until(|| self.talk().contains(text), || format!("it does not say `{text}`: {}", self.talk()));
    }

    /// Waits until it says `text`, and has then said it once.
    pub(crate) fn hear_once(&self, text: &str) {
        self.hear(text);
        assert_eq!(self.talk().matches(text).count(), 1, "{text}: {}", self.talk());
    }

    pub(crate) fn talk(&self) -> String {
        self.talk.lock().unwrap().clone()
    }

    pub(crate) fn url(&self) -> String {
        let ready = self.seen.iter().rev().find(|event| event["event"] == "ready").unwrap();
        ready["api"].as_str().unwrap().to_owned()
    }

    /// Asks the server.
    fn call(&self, method: &str, route: &str, body: Value) -> Value {
        call(method, &format!("{}{route}", self.url()), body)
    }

    /// The status of a search with this header.
    fn status(&self, name: &str, value: &str) -> u16 {
        let url = format!("{}/threads/search", self.url());
        send("POST", &url, &[(name, value)], serde_json::json!({})).0
    }

    /// Runs the graph `agent` and answers its result.
    fn run(&self, input: Value) -> Value {
        self.call("POST", "/runs/wait", serde_json::json!({ "assistant_id": "agent", "input": input }))
    }

    fn signal(&self, signal: &str) {
        signal_process(self.process.id(), signal);
    }

    /// Asks it to end, and waits for it.
    pub(crate) fn stop(mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.process.wait().unwrap()
    }

    fn ended(&mut self) -> ExitStatus {
        harness::ended(&mut self.process, |_| self.talk.lock().unwrap().clone())
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn signal_process(id: u32, signal: &str) {
    let status = Command::new("kill").args([&format!("-{signal}"), &id.to_string()]).status().unwrap();
    assert!(status.success());
}

/// One HTTP call; the answer is JSON, or its status and text.
fn call(method: &str, url: &str, body: Value) -> Value {
    let (status, text) = send(method, url, &[], body);
    serde_json::from_str(&text).unwrap_or_else(|_| Value::String(format!("{status} {text}")))
}

/// One HTTP call with these headers; the answer's status and text.
pub(crate) fn send(method: &str, url: &str, headers: &[(&str, &str)], body: Value) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        rustls::crypto::ring::default_provider().install_default().ok();
        let client =
            reqwest::Client::builder().tls_danger_accept_invalid_certs(true).timeout(PATIENCE).build();
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = client.unwrap().request(method, url).header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await.unwrap_or_else(|error| panic!("{url}: {error:?}"));
        (response.status().as_u16(), response.text().await.unwrap())
    })
}

/// Processes that carry the mark: their ids and command lines.
fn processes(mark: &Path) -> Vec<String> {
    let wanted = format!("{MARK}={}", mark.display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
        let is_ours = environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes());
        let command = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        is_ours.then(|| format!("{id} {}", String::from_utf8_lossy(&command).replace('\0', " ")))
    })
    .collect()
}
