//! The JavaScript server, and the JavaScript half of the Python server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::guard::ask;
use super::handover::Client;
use super::options::refuses_foreign_pages;
use super::{Dev, PATIENCE, Project, call, processes};
use crate::harness::fixtures;
use crate::harness::free_port;

pub(super) const GRAPH: &str = "src/graph.ts";

/// What all but the first of these tests share, so that it is installed once: the server's packages and the fixture's.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<TempDir> = OnceLock::new();
    let made = || {
        let project = Project::of("javascript");
        project.ready(&["--no-reload"]).stop("INT");
        let kept = TempDir::new().unwrap();
        fs::create_dir(kept.path().join(".agentcli")).unwrap();
        for part in [".agentcli/node", "node_modules"] {
            fs::rename(project.path(part), kept.path().join(part)).unwrap();
        }
        kept
    };
    INSTALLED.get_or_init(made).path()
}

/// The fixture with everything installed: hard links, so that it takes no time.
pub(super) fn project() -> Project {
    let project = Project::of("javascript");
    fs::create_dir_all(project.path(".agentcli")).unwrap();
    for part in [".agentcli/node", "node_modules"] {
        let status =
            Command::new("cp").arg("-al").arg(installed().join(part)).arg(project.path(part)).status();
        assert!(status.unwrap().success());
    }
    // What an installation writes last is not shared, and newer than the manifests.
    for folder in ["node_modules", ".agentcli/node/node_modules"] {
        let mark = format!("{folder}/.package-lock.json");
        let text = project.read(&mark);
        fs::remove_file(project.path(&mark)).unwrap();
        project.write(&mark, text);
    }
    project
}

fn greeting(dev: &Dev) -> Value {
    dev.run(json!({ "name": "Ada" }))["greeting"].clone()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

/// A PATH of these folders in front of what a shell needs, without any Node.js.
fn path(folders: &[&Path]) -> String {
    let shell = ["/usr/bin", "/bin"].map(PathBuf::from).into_iter();
    let all =
        folders.iter().map(|folder| folder.to_path_buf()).chain(shell.filter(|it| !it.join("node").exists()));
    env::join_paths(all).unwrap().into_string().unwrap()
}

/// A program that says one thing.
fn script(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_project_runs_and_remembers_and_leaves_nothing_behind() {
    let project = Project::of("javascript");
    let before = project.contents();
    let dev = project.ready(&["--n-jobs-per-worker", "3"]);
    assert_eq!(names(&dev.seen).first(), Some(&"provisioning"));
    let ready = dev.seen.last().unwrap();
    assert_eq!(ready["docs"], Value::Null, "it has none");
    assert_eq!(dev.run(json!({ "name": "Ada" })), json!({ "name": "Ada", "greeting": "Hello, Ada!" }));
    let thread = dev.call("POST", "/threads", json!({}))["thread_id"].as_str().unwrap().to_owned();
    let run = json!({ "assistant_id": "agent", "input": { "name": "Grace" } });
    dev.call("POST", &format!("/threads/{thread}/runs/wait"), run);
    assert!(dev.stop("INT").success());
    assert_eq!(project.processes(), [""; 0]);

    for (signal, arguments) in [("TERM", &["--no-reload"][..]), ("KILL", &[]), ("HUP", &[])] {
        let dev = project.ready(arguments);
        assert!(!names(&dev.seen).contains(&"provisioning"), "{:#?}", dev.seen);
        let state = dev.call("GET", &format!("/threads/{thread}/state"), Value::Null);
        assert_eq!(state["values"]["greeting"], "Hello, Grace!", "before {signal}");
        dev.stop(signal);
        assert_eq!(project.processes(), [""; 0], "after {signal}");
    }
    fs::remove_dir_all(project.path("node_modules")).unwrap();
    assert_eq!(project.contents(), before, "files of the user were changed");
}

#[test]
fn an_edit_goes_live_and_a_mistake_is_told_and_mended() {
    let project = project();
    let mut dev = project.ready(&["--host", "localhost"]);
    assert!(!names(&dev.seen).contains(&"provisioning"), "{:#?}", dev.seen);
    let client = Client::start(&dev);
    project.edit(GRAPH, "Hello", "Bonjour");
    assert_eq!(dev.until("reloading")["changed"], json!([GRAPH]));
    dev.until("ready");
    assert_eq!(greeting(&dev), "Bonjour, Ada!");

    project.edit(GRAPH, "  .compile();", "  .compile();\nconst mistake = = 1;");
    assert_eq!(dev.until("kept")["reason"], "the project has errors");
    dev.hear("src/graph.ts:10:17");
    assert_eq!(greeting(&dev), "Bonjour, Ada!");
    // What only loading finds.
    let mut before = "const mistake = = 1;";
    for (line, reason) in [
        ("throw new TypeError('too early');", "src/graph.ts:10: TypeError: too early"),
        ("process.exit(3);", "the graphs cannot be loaded"),
        ("await Promise.reject(new RangeError('too far'));", "src/graph.ts:10: RangeError: too far"),
    ] {
        project.edit(GRAPH, before, line);
        let kept = dev.until("kept");
        assert_eq!(kept["reason"], reason, "{kept:#}");
        assert_eq!(greeting(&dev), "Bonjour, Ada!");
        before = line;
    }
    project.edit(GRAPH, before, "");
    dev.until("ready");
    assert_eq!(greeting(&dev), "Bonjour, Ada!");
    client.assert_nothing_lost(&dev);

    project.edit("package.json", "\"name\": \"javascript\"", "\"name\": \"renamed\"");
    dev.until("reloading");
    assert!(names(&dev.seen).contains(&"provisioning"), "its manifest changed");
    dev.until("ready");
    dev.stop("INT");
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn what_the_environment_holds_reaches_the_graph() {
    let project = project();
    project.edit(
        GRAPH,
        "${state.name}",
        "${state.name} of ${process.env.GREETING} at ${process.env.LANGGRAPH_API_URL}",
    );
    let cors = json!({ "allow_origins": ["https://app.example"], "allow_origin_regex": "^https://[a-z]+[.]apps[.]example$" });
    project.edit("agent.json", "\"env\"", &format!("\"http\": {{ \"cors\": {cors} }},\n  \"env\""));
    // A server that logs every question is asked all the same whether it is ready.
    let dev = project.ready(&["--no-reload", "--server-log-level", "info"]);
    assert_eq!(greeting(&dev), json!(format!("Hello, Ada of hello at {}!", dev.url())));
    dev.hear("GET /ok");
    for (origin, status) in
        [("https://app.example", 200), ("https://one.apps.example", 200), ("https://evil.example", 403)]
    {
        assert_eq!(dev.status("Origin", origin), status, "{origin}");
    }
    dev.stop("INT");
}

#[test]
fn state_that_cannot_be_read_is_kept_and_told_of() {
    let project = project();
    project.write(".langgraph_api/.langgraphjs_ops.json", "{\"json\": {\"runs\"");
    let dev = project.ready(&["--no-reload"]);
    let warning = dev.seen.iter().find(|event| event["event"] == "warning").unwrap();
    assert_eq!(
        warning["message"],
        "the server could not read its state and started without it; the old files are in .agentcli/state-unreadable"
    );
    dev.stop("INT");
    assert_eq!(project.read(".agentcli/state-unreadable/.langgraphjs_ops.json"), "{\"json\": {\"runs\"");
}

#[test]
fn it_is_served_over_https() {
    let project = project();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(project.directory.path())
        .output();
    assert!(made.unwrap().status.success());
    let dev = project.ready(&["--no-reload", "--ssl-certfile", "cert.pem", "--ssl-keyfile", "key.pem"]);
    assert!(dev.url().starts_with("https://"), "{}", dev.url());
    assert_eq!(greeting(&dev), "Hello, Ada!");
    refuses_foreign_pages(&dev);
    dev.stop("INT");
}

#[test]
fn options_of_the_python_server_are_warned_of() {
    let project = project();
    project.edit("agent.json", "\"env\"", "\"store\": { \"ttl\": { \"default_ttl\": 5 } },\n  \"env\"");
    let dev = project.ready(&["--no-reload", "--allow-blocking", "--python", "python3"]);
    let warnings = dev.seen.iter().filter(|event| event["event"] == "warning");
    let warnings: Vec<&str> = warnings.map(|event| event["message"].as_str().unwrap()).collect();
    assert_eq!(
        warnings,
        [
            "--python has no effect: the JavaScript server runs without Python",
            "--allow-blocking has no effect: the JavaScript server never checks for blocking calls",
            "the JavaScript server ignores `store` outside a container",
        ]
    );
    dev.stop("INT");
}

/// The inspector's protocol begins as HTTP and goes on as WebSocket; these messages are short.
struct Inspector {
    stream: BufReader<TcpStream>,
}

impl Inspector {
    fn attach(port: u16) -> Self {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "nobody listens");
            std::thread::sleep(Duration::from_millis(50));
        }
        let list = call("GET", &format!("http://127.0.0.1:{port}/json/list"), Value::Null);
        let url = list[0]["webSocketDebuggerUrl"].as_str().unwrap().to_owned();
        let path = url.splitn(4, '/').nth(3).unwrap();
        let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
        stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream.get_mut(),
            "GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        Self { stream }
    }

    /// Sends one message, masked with zeros.
    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let length = u8::try_from(text.len()).unwrap();
        assert!(length < 126);
        let head = [0x81, 0x80 | length, 0, 0, 0, 0];
        self.stream.get_mut().write_all(&[&head, text.as_bytes()].concat()).unwrap();
    }

    /// Reads messages until one is the answer to `id`.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head).unwrap();
            let mut long = [0; 8];
            let bytes = match head[1] {
                126 => 2,
                127 => 8,
                _ => 0,
            };
            self.stream.read_exact(&mut long[8 - bytes..]).unwrap();
            let length = if bytes == 0 { u64::from(head[1]) } else { u64::from_be_bytes(long) };
            let mut text = vec![0; usize::try_from(length).unwrap()];
            self.stream.read_exact(&mut text).unwrap();
            match serde_json::from_slice::<Value>(&text) {
                Ok(message) if message["id"] == id => return message,
                _ => {}
            }
        }
    }
}

#[test]
fn a_debugger_attaches_and_the_server_waits_for_it() {
    let project = project();
    let port = free_port();
    let mut dev = project.start(&["--no-reload", "--debug-port", &port.to_string(), "--wait-for-client"]);
    dev.until("starting");
    let mut inspector = Inspector::attach(port);
    let early = dev.within(Duration::from_millis(1500));
    assert!(!names(&early).contains(&"ready"), "it waits");
    inspector.send(&json!({ "id": 1, "method": "Runtime.runIfWaitingForDebugger" }));
    inspector.answer(1);
    dev.until("ready");
    let expression = json!({ "expression": "process.env.LANGGRAPH_API_URL" });
    inspector.send(&json!({ "id": 2, "method": "Runtime.evaluate", "params": expression }));
    assert_eq!(inspector.answer(2)["result"]["result"]["value"], json!(dev.url()));
    // Node.js waits for it to leave.
    drop(inspector);
    assert!(dev.stop("INT").success());
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn without_node_or_with_an_old_one_it_says_so() {
    let project = Project::of("javascript");
    let (empty, old) = (path(&[]), project.path("old"));
    let project = project.variable("PATH", &empty);
    let (code, _, err) = project.fails(&[]);
    assert_eq!(code, 1);
    assert!(err.contains("error: no Node.js 20 or later found\nhint: install one"), "{err}");
    script(&old, "node", "echo v18.19.1");
    let project = project.variable("PATH", &path(&[&old]));
    let (code, _, err) = project.fails(&[]);
    assert_eq!(code, 1);
    assert!(err.contains("old/node` is Node.js 18.19.1"), "{err}");
}

#[test]
fn an_old_graph_library_runs_on_an_older_server() {
    let project = Project::of("javascript");
    let manifest = json!({
        "private": true,
        "type": "module",
        "dependencies": { "@langchain/core": "0.3.59", "@langchain/langgraph": "0.2.44" }
    });
    project.write("package.json", manifest.to_string());
    let dev = project.ready(&["--no-reload"]);
    assert_eq!(greeting(&dev), "Hello, Ada!");
    dev.hear("`@langchain/langgraph` is 0.2.44 in `./package.json`");
    dev.stop("INT");
}

#[test]
fn another_node_than_the_pinned_one_is_warned_of() {
    let project = project();
    project.edit("agent.json", "\"node_version\": \"20\"", "\"node_version\": \"97\"");
    let dev = project.ready(&["--no-reload"]);
    let warning = dev.seen.iter().find(|event| event["event"] == "warning").unwrap();
    let message = warning["message"].as_str().unwrap();
    assert!(message.starts_with("the configuration pins Node.js 97, and `"), "{message}");
    dev.stop("INT");
}

#[test]
fn nothing_is_installed_against_the_users_will() {
    let project = Project::of("javascript");
    let (code, _, err) = project.fails(&["--no-install"]);
    assert_eq!(code, 1);
    assert!(err.contains("error: not installed: the server's JavaScript packages"), "{err}");
    assert!(err.contains("hint: omit --no-install"), "{err}");
    assert!(!project.path("node_modules").exists() && !project.path(".agentcli/node").exists());
}

#[test]
fn a_package_manager_that_is_not_there_is_named() {
    let project = Project::of("javascript");
    project.write("bun.lock", "{}");
    let node = which("node");
    let tools = project.path("tools");
    fs::create_dir_all(&tools).unwrap();
    std::os::unix::fs::symlink(node, tools.join("node")).unwrap();
    script(&tools, "npm", "/bin/mkdir -p node_modules");
    let project = project.variable("PATH", &path(&[&tools]));
    let (code, _, err) = project.fails(&[]);
    assert_eq!(code, 1);
    assert!(err.contains("error: cannot install the project's packages: `bun` is not on the PATH"), "{err}");
}

/// Two installations at once leave the packages incomplete.
#[test]
fn projects_of_a_workspace_install_one_after_the_other() {
    let project = Project::of("javascript");
    project.write("package.json", r#"{ "private": true, "workspaces": ["apps/a", "apps/b"] }"#);
    for name in ["a", "b"] {
        project.write(
            &format!("apps/{name}/package.json"),
            format!(r#"{{ "name": "{name}", "private": true }}"#),
        );
        project.write(&format!("apps/{name}/agent.json"), r#"{ "graphs": { "agent": "./graph.ts:graph" } }"#);
        project.write(&format!("apps/{name}/graph.ts"), project.read(GRAPH));
    }
    let tools = project.path("tools");
    fs::create_dir_all(&tools).unwrap();
    std::os::unix::fs::symlink(which("node"), tools.join("node")).unwrap();
    // It takes as long at the root as the test wants, and installs nothing.
    let npm = "echo start >>log\n[ -d apps ] && while [ ! -e go ]; do /bin/sleep 0.1; done\n\
               /bin/mkdir -p node_modules && : >node_modules/.package-lock.json\necho end >>log";
    script(&tools, "npm", npm);
    let project = project.variable("PATH", &path(&[&tools]));
    let start = |name| project.start(&["--no-reload", "--config", &format!("apps/{name}/agent.json")]);
    let starts = || fs::read_to_string(project.path("log")).unwrap_or_default().matches("start").count();
    let deadline = Instant::now() + PATIENCE;
    let mut first = start("a");
    while starts() == 0 {
        assert!(Instant::now() < deadline, "{}", first.talk());
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut second = start("b");
    let waits =
        |event: &Value| event["message"].as_str().is_some_and(|it| it.starts_with("waiting for another"));
    while starts() < 2 && !second.within(Duration::from_millis(50)).iter().any(waits) {
        assert!(Instant::now() < deadline, "{}", second.talk());
    }
    project.write("go", "");
    // Nothing is installed, so that neither server starts.
    assert_eq!((first.ended().code(), second.ended().code()), (Some(1), Some(1)));
    assert_eq!(project.read("log"), "start\nend\n");
}

#[test]
fn a_package_that_does_not_install_is_told_of() {
    let project = project();
    project.edit("package.json", "\"1.4.12\"", "\"97.1.0\"");
    let (code, _, err) = project.fails(&[]);
    assert_eq!(code, 1);
    assert!(err.contains("No matching version found for @langchain/langgraph@97.1.0"), "{err}");
    assert!(err.contains("error: installing failed: npm install ended with exit code 1"), "{err}");
}

fn which(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap();
    env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.is_file()).unwrap()
}

/// The ports on which the halves of the server talk to each other.
fn inner_ports(project: &Project) -> Vec<u16> {
    let id = processes(project.directory.path()).iter().find(|it| it.contains("client.mts")).map(|process| {
        let id = process.split(' ').next().unwrap();
        fs::read(format!("/proc/{id}/environ")).unwrap()
    });
    let environment = String::from_utf8(id.unwrap()).unwrap();
    let variables = environment.split('\0').filter_map(|variable| variable.split_once('='));
    let names = ["LANGGRAPH_JS_REMOTE_PORT", "LANGGRAPH_JS_GRAPH_PORT"];
    let ports = variables.filter(|(name, _)| names.contains(name)).map(|(_, port)| port.parse().unwrap());
    let ports: Vec<u16> = ports.collect();
    assert_eq!(ports.len(), 2);
    ports
}

#[test]
fn graphs_of_both_languages_run_side_by_side() {
    let project = Project::of("mixed");
    project.write("package.json", fs::read(fixtures("valid").join("javascript/package.json")).unwrap());
    fs::remove_file(project.path("yarn.lock")).unwrap();
    let mut config: Value = serde_json::from_str(&project.read("agent.json")).unwrap();
    for key in ["ui", "ui_config"] {
        config.as_object_mut().unwrap().remove(key);
    }
    project.write("agent.json", config.to_string());
    let mut dev = project.ready(&[]);
    let run = |dev: &Dev, graph: &str| {
        let body = json!({ "assistant_id": graph, "input": { "name": "Ada" } });
        dev.call("POST", "/runs/wait", body)
    };
    assert_eq!(run(&dev, "python"), json!({ "said": "python" }));
    assert_eq!(run(&dev, "typescript"), json!({ "name": "Ada", "greeting": "Hello, Ada!" }));
    for port in inner_ports(&project) {
        for (name, value, status) in
            [("Origin", "https://evil.example", 403), ("Origin", "null", 403), ("Host", "evil.example", 421)]
        {
            let own = ("Host", "localhost");
            let headers = if name == "Host" { vec![(name, value)] } else { vec![own, (name, value)] };
            assert_eq!(ask(port, "POST", "/ok", &headers, "{}").status, status, "{port}: {value}");
        }
        assert_eq!(ask(port, "GET", "/ok", &[("Host", "localhost")], "").status, 200, "{port}");
    }
    project.edit(GRAPH, "Hello", "Bonjour");
    dev.until("reloading");
    dev.until("ready");
    assert_eq!(run(&dev, "typescript")["greeting"], "Bonjour, Ada!");
    dev.stop("INT");
    assert_eq!(project.processes(), [""; 0]);
    let dev = project.ready(&["--no-reload"]);
    assert!(!names(&dev.seen).contains(&"provisioning"), "{:#?}", dev.seen);
    dev.stop("INT");
}
