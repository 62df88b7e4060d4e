//! Which addresses a command contacts: all that it or a child process connects or sends to, as the kernel sees them.
//! A command that needs no network runs in a network namespace of its own, in which it reaches nobody.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use agentcli_host::Store;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine::{docker, hosts, remove_labelled};
use crate::harness::{TestEnv, copy, fixtures, free_port, program, until};
use crate::host::serve::first_line;
use crate::host::service::{Host, KEY};

/// Reports the addresses of a program to the file that follows. The program stays the child of its caller.
pub(crate) const TRACE: &[&str] =
    &["strace", "-D", "-f", "--seccomp-bpf", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"];

/// The contacts in the report at `log` of the process `id`, which has ended.
pub(crate) fn contacts(log: &Path, id: u32) -> BTreeSet<String> {
    let is_complete = |text: &str| {
        let ends = text.lines().filter(|line| line.contains("+++ exited") || line.contains("+++ killed"));
        ends.filter_map(|line| line.split_whitespace().next()).any(|process| process == id.to_string())
    };
    let text = || fs::read_to_string(log).unwrap_or_default();
    until(|| is_complete(&text()), || format!("the report of {id} is not complete: {}", text()));
    text().lines().filter_map(contact).collect()
}

/// The address in a line of the report, unless it is of the kernel or of the name service cache of this machine.
fn contact(line: &str) -> Option<String> {
    let quoted = |mark: &str| line.split_once(mark)?.1.split('"').next().map(str::to_owned);
    let port = |mark: &str| line.split_once(mark)?.1.split(')').next().map(str::to_owned);
    let path = quoted("sun_path=\"").filter(|path| !path.contains("/nscd/"));
    let v4 = || Some(format!("{}:{}", quoted("inet_addr(\"")?, port("sin_port=htons(")?));
    let v6 = || Some(format!("[{}]:{}", quoted("inet_pton(AF_INET6, \"")?, port("sin6_port=htons(")?));
    path.or_else(v4).or_else(v6)
}

/// Runs `agentcli` in `directory`; returns its output and its contacts.
fn run(
    directory: &Path,
    prefix: &[&str],
    arguments: &[&str],
    variables: &[(&str, &str)],
    input: &str,
) -> (Output, BTreeSet<String>) {
    let logs = TempDir::new().unwrap();
    let log = logs.path().join("trace");
    let mut command = traced(directory, prefix, arguments, &log);
    let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    (output, contacts(&log, id))
}

/// The program with these arguments, which reports to `log`.
fn traced(directory: &Path, prefix: &[&str], arguments: &[&str], log: &Path) -> Command {
    let all = [prefix, TRACE, &[log.to_str().unwrap(), program()], arguments].concat();
    let mut command = Command::new(all[0]);
    command
        .args(&all[1..])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A network namespace in which only the loopback interface is there.
const ALONE: &[&str] = &["unshare", "--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"];

#[test]
fn the_trace_shows_connections_and_lookups() {
    let directory = TempDir::new().unwrap();
    let log = directory.path().join("trace");
    let script = "import socket\ntry: socket.create_connection(('192.0.2.7', 81))\nexcept OSError: pass\n\
                  try: socket.getaddrinfo('name.example', 80)\nexcept OSError: pass\n\
                  try: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::7', 82))\nexcept OSError: pass\n";
    let all = [ALONE, TRACE, &[log.to_str().unwrap(), "python3", "-c", script]].concat();
    let mut child = Command::new(all[0]).args(&all[1..]).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    let found = contacts(&log, child.id());
    assert!(found.contains("192.0.2.7:81") && found.contains("[2001:db8::7]:82"), "{found:?}");
    assert!(found.iter().any(|it| it.ends_with(":53")), "{found:?}");
}

#[test]
fn most_commands_contact_nobody() {
    let message = |body: serde_json::Value| {
        let body = body.to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let opened =
        json!({ "uri": "file:///nowhere/agent.json", "languageId": "json", "version": 1, "text": "{}" });
    let session = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "capabilities": {} } }),
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": opened } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "shutdown" }),
        json!({ "jsonrpc": "2.0", "method": "exit" }),
    ];
    let session: String = session.into_iter().map(message).collect();
    let project = TestEnv::project();
    for (arguments, input) in [
        ("validate", ""),
        ("validate --fix --format sarif", ""),
        ("explain unknown-key", ""),
        ("schema", ""),
        ("plan", ""),
        ("dockerfile -", ""),
        ("compose -", ""),
        ("manifests --name agent --image registry.example/agent:1 -", ""),
        ("new made", ""),
        ("completions bash", ""),
        ("lsp", &session),
        ("--help", ""),
        ("--version", ""),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let (output, contacts) = run(&project.path(""), ALONE, &words, &[], input);
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert_eq!(contacts, BTreeSet::new(), "{arguments}");
    }
}

#[test]
fn commands_of_the_engine_contact_only_it_and_the_server() {
    let host = hosts().remove(0);
    let (project, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    copy(&fixtures("databases"), project.path());
    let name = format!("agentcli-contacts-{}", std::process::id());
    let image = format!("{name}-langgraph-api");
    let port = free_port().to_string();
    let engine = host.strip_prefix("unix://").unwrap().to_owned();
    let server = format!("127.0.0.1:{port}");
    let home = home.path().to_str().unwrap();
    let variables = [("DOCKER_HOST", &*host), ("HOME", home), ("XDG_CACHE_HOME", home)];
    let up = format!("up --no-pull --wait --port {port} --project-name {name}");
    let invoke = format!(r#"invoke agent {{"name":"Ada"}} --project-name {name}"#);
    let down = format!("down --volumes --project-name {name}");
    let build = format!("build --no-pull --tag {image}");
    let expected = [
        (build.as_str(), BTreeSet::from([engine.clone()])),
        (&up, BTreeSet::from([engine.clone(), server.clone()])),
        (&invoke, BTreeSet::from([engine.clone(), server])),
        (&down, BTreeSet::from([engine.clone()])),
        ("doctor", BTreeSet::from([engine])),
    ];
    let mut found = Vec::new();
    for (arguments, _) in &expected {
        let words: Vec<&str> = arguments.split(' ').collect();
        let (output, contacts) = run(project.path(), &[], &words, &variables, "");
        found.push((*arguments, contacts, output));
    }
    docker(&host, &["rmi", "-f", &image]);
    for ((arguments, expected), (_, contacts, output)) in expected.iter().zip(found) {
        assert!(output.status.success() || *arguments == "doctor", "{arguments}: {output:?}");
        assert_eq!(contacts, *expected, "{arguments}");
    }
}

#[test]
fn commands_of_the_service_contact_only_it() {
    let host = Host::start(|_| {});
    let project = TestEnv::project();
    let url = host.url();
    let home = project.path("");
    let variables = [("HOME", home.to_str().unwrap())];
    for arguments in ["deploy list", "deploy get nobody", "deploy logs --name nobody"] {
        let all = format!("{arguments} --host-url {url} --api-key {KEY}");
        let words: Vec<&str> = all.split(' ').collect();
        let (output, contacts) = run(&project.path(""), &[], &words, &variables, "");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() || err.contains("there is no deployment named"),
            "{arguments}: {err}"
        );
        assert_eq!(contacts, BTreeSet::from([host.address().to_string()]), "{arguments}");
    }
}

#[test]
fn the_service_contacts_only_the_engine_and_this_machine() {
    let engine = hosts().remove(0);
    let socket = engine.strip_prefix("unix://").unwrap();
    let (project, home) = (TempDir::new().unwrap(), TestEnv::empty());
    copy(&fixtures("databases"), project.path());
    let key = home.run("host keys create --data data").out;
    let log = home.path("trace");
    let words = "host serve --data data --listen 127.0.0.1:0 --proxy 127.0.0.1:0 --json";
    let words: Vec<&str> = words.split(' ').collect();
    let mut service = traced(&home.path("."), &[], &words, &log).env("DOCKER_HOST", &engine).spawn().unwrap();
    let ready: Value = serde_json::from_str(&first_line(&mut service)).unwrap();
    let url = ready["url"].as_str().unwrap();
    let api = url.strip_prefix("http://").unwrap().to_owned();
    let proxy = ready["deployments"].as_str().unwrap().rsplit(':').next().unwrap();
    let proxy = format!("127.0.0.1:{proxy}");

    let at_home = home.path("");
    let variables = [("HOME", at_home.to_str().unwrap())];
    let account = format!("--host-url {url} --api-key {}", key.trim());
    let mut found = Vec::new();
    for (arguments, expected) in [
        (format!("deploy --remote --yes --name traced {account}"), vec![api.clone()]),
        (
            format!("manifests - --deployment traced --image registry.example/agent:1 {account}"),
            vec![api.clone()],
        ),
        (format!(r#"invoke agent {{"name":"Ada"}} --deployment traced {account}"#), vec![api, proxy]),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let (output, contacts) = run(project.path(), &[], &words, &variables, "");
        found.push((arguments.replace(key.trim(), "KEY"), output, contacts, expected));
    }
    let id = service.id();
    kill_process(Pid::from_child(&service), Signal::TERM).unwrap();
    let ended = service.wait().unwrap();
    let host = Store::attach(&home.path("data")).unwrap().host_id().unwrap();
    remove_labelled(&engine, &format!("agentcli.host={host}"));
    assert!(ended.success());
    for (arguments, output, contacts, expected) in found {
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert_eq!(contacts, BTreeSet::from_iter(expected), "{arguments}");
    }
    let contacts = contacts(&log, id);
    assert!(contacts.contains(socket), "{contacts:?}");
    let is_here = |contact: &String| contact == socket || contact.starts_with("127.0.0.1:");
    assert!(contacts.iter().all(is_here), "{contacts:?}");
}

/// The programs that were started, by the report at `log` of the process `id`, without that process itself.
fn started(log: &Path, id: u32) -> Vec<String> {
    // Short numbers are followed by more spaces.
    let has_ended = |line: &str| {
        let rest = line.strip_prefix(&id.to_string()).unwrap_or_default();
        rest.trim_start().starts_with("+++ exited")
    };
    until(
        || fs::read_to_string(log).unwrap_or_default().lines().any(has_ended),
        || "the report is not complete".to_owned(),
    );
    let text = fs::read_to_string(log).unwrap();
    let is_started = |line: &&str| line.contains("execve(\"") && line.ends_with(" = 0");
    let all = text.lines().filter(is_started).skip(1);
    all.filter_map(|line| Some(line.split_once("execve(\"")?.1.split('"').next()?.to_owned())).collect()
}

/// What a hostile project brings in the place of programs and modules runs in no command that promises it. The page on security
/// has the list.
#[test]
fn hostile_projects_start_only_the_processes_that_are_documented() {
    let (engine, service) = (hosts().remove(0), Host::start(|_| {}));
    let home = TempDir::new().unwrap();
    let mark = home.path().join("mark");
    let shell = format!("sh -c 'touch {}'", mark.display());
    let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
    let module = format!("open({:?}, 'w')\n", mark.display().to_string());
    let config = format!(
        "[core]\n\tfsmonitor = {shell}\n\tpager = {shell}\n\thooksPath = .hooks\n\tsshCommand = {shell}\n[filter \"x\"]\n\t\
         process = {shell}\n\tclean = {shell}\n[remote \"origin\"]\n\turl = ext::{shell}\n"
    );
    let mut project = TestEnv::project()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/refs/x", "")
        .file(".git/objects/x", "")
        .file(".git/config", config)
        .file(".gitattributes", "* filter=x diff=x\n")
        .file(".env", format!("AGENT_HOST_URL={}\nAGENT_HOST_API_KEY=other\n", service.url()))
        .file(".npmrc", "script-shell=./git\n")
        .file("package.json", r#"{"scripts": {"preinstall": "./git"}}"#);
    for name in ["pip.py", "venv.py", "uv.py", "platform.py", "sitecustomize.py", "usercustomize.py"] {
        project = project.file(name, &module);
    }
    for name in
        ["git", "docker", "uv", "python3", "node", "npm", ".hooks/post-index-change", "node_modules/.bin/npm"]
    {
        project = project.file(name, &script);
        fs::set_permissions(project.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let image = format!("agentcli-started-{}", std::process::id());
    let at_home = home.path().to_str().unwrap();
    let variables = [("DOCKER_HOST", &*engine), ("HOME", at_home), ("XDG_CACHE_HOME", at_home)];
    // `/proc/self/exe` is the guard of a child; `docker` starts its plugin, and uv asks interpreters for their versions.
    let asked = ["exe", "docker", "python", "uv", "pip", "node", "npm", "pnpm", "yarn", "bun", "cloudflared"];
    let account = format!("--host-url {} --api-key {KEY}", service.url());
    for (arguments, expected) in [
        ("validate".to_owned(), &[][..]),
        ("validate --diff".to_owned(), &[]),
        ("plan".to_owned(), &[]),
        (format!("build --no-pull --tag {image}"), &[]),
        (format!("deploy --dry-run --name app {account}"), &[]),
        (format!("deploy --dry-run --remote --name app {account}"), &[]),
        ("doctor".to_owned(), &asked),
    ] {
        let logs = TempDir::new().unwrap();
        let log = logs.path().join("trace");
        let trace = ["-D", "-f", "-e", "trace=execve", "-o", log.to_str().unwrap(), program()];
        let mut command = Command::new("strace");
        command.args(trace).args(arguments.split(' ')).current_dir(project.path("")).envs(variables);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let output = child.wait_with_output().unwrap();
        let programs = started(&log, id);
        let name = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_known = |path: &&String| {
            expected.iter().any(|known| name(path).starts_with(known))
                && !Path::new(path).starts_with(project.path(""))
        };
        let others: Vec<_> = programs.iter().filter(|path| !is_known(path)).collect();
        assert!(others.is_empty(), "{arguments}: {others:?}: {output:?}");
        assert!(!mark.exists(), "{arguments}: {programs:?}");
        assert!(arguments != "doctor" || !programs.is_empty(), "{output:?}");
        let is_done = output.status.success() || arguments == "doctor";
        assert!(is_done, "{arguments}: {output:?}");
    }
    docker(&engine, &["rmi", "-f", &image]);
}
