//! What the server prints, and what is asked, on a server and an installer of this test's own: the real ones cannot be
//! made to print so much.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{PATIENCE, Project, processes, signal_process};
use crate::harness::free_port;

/// Answers what `dev` asks an interpreter, and otherwise runs the server of the test.
const PYTHON: &str = r#"#!/bin/sh
case "$1" in
-I) echo "{\"version\": [3, 12, 1], \"missing\": [$(cat missing 2>/dev/null)]}" ;;
*) exec python3 server.py "$4" ;;
esac
"#;

/// Makes an environment of the interpreter above.
const UV: &str = r#"#!/bin/sh
case "$1" in
venv) for home; do :; done; mkdir -p "$home/bin"; cp tools/python "$home/bin/python" ;;
pip) sleep "$(cat install-takes 2>/dev/null || echo 0)" ;;
*) exit 1 ;;
esac
"#;

/// Answers every request with 200, in the background.
const ANSWER: &str = "
from http.server import BaseHTTPRequestHandler, HTTPServer
class Ok(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = HTTPServer(None, Ok, bind_and_activate=False)
server.socket = socket.socket(fileno=json.loads(sys.argv[1])['sockets'][0])
threading.Thread(target=server.serve_forever, daemon=True).start()
";

fn project(server: &str) -> Project {
    let project = Project::of("hello");
    project.write("server.py", format!("import json, socket, sys, threading, time\n{server}"));
    for (name, text) in [("python", PYTHON), ("uv", UV)] {
        project.write(&format!("tools/{name}"), text);
        fs::set_permissions(project.path(&format!("tools/{name}")), fs::Permissions::from_mode(0o755))
            .unwrap();
    }
    let path = format!("{}:{}", project.path("tools").display(), std::env::var("PATH").unwrap());
    project.variable("PATH", &path)
}

fn spawn(project: &Project, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let port = free_port().to_string();
    let all = [&["--no-browser", "--python", "tools/python", "--port", &port], arguments].concat();
    let mut process = project.command(&all).spawn().unwrap();
    let out = BufReader::new(process.stdout.take().unwrap());
    (process, out)
}

/// Reads events up to one that is like this.
fn until(out: &mut BufReader<ChildStdout>, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    let events = out.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut events = events.take_while(|_| Instant::now() < deadline);
    events.find(|event| is(event)).expect("no such event")
}

fn end(mut process: Child, mut out: BufReader<ChildStdout>) {
    signal_process(process.id(), "INT");
    out.read_to_end(&mut Vec::new()).unwrap();
    let code = process.wait().unwrap().code();
    // It may not be ready yet.
    assert!(matches!(code, Some(0 | 130)), "{code:?}");
}

#[test]
fn a_server_that_prints_without_end_does_not_freeze_dev() {
    let project = project(&format!("{ANSWER}while True: print('x' * 80)"));
    let (process, mut out) = spawn(&project, &["--json"]);
    until(&mut out, |event| event["event"] == "ready");
    project.edit("src/hello/graph.py", "from typing", "# changed\nfrom typing");
    until(&mut out, |event| event["event"] == "reloading");
    until(&mut out, |event| event["event"] == "ready");
    end(process, out);
    assert_eq!(project.processes(), [""; 0]);

    project.write("server.py", "while True: print('x' * 80)");
    let (mut process, mut out) = spawn(&project, &["--json", "--no-reload", "--start-timeout", "2"]);
    out.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1));
}

#[test]
fn memory_stays_flat_without_line_ends() {
    let flood = "for _ in range(200): sys.stdout.write('x' * 1000000)\nprint()\nprint('end', flush=True)\n";
    let project = project(&format!("{ANSWER}{flood}time.sleep(600)"));
    let (process, mut out) = spawn(&project, &["--json"]);
    let cut = until(&mut out, |event| event["event"] == "log");
    let line = cut["line"].as_str().unwrap();
    assert!(line.len() < 70_000 && line.ends_with("x … (cut)"), "{} bytes", line.len());
    assert_eq!(until(&mut out, |event| event["event"] == "log")["line"], "end");
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kilobytes: u32 = peak.trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 80_000, "{peak}");
    end(process, out);
}

#[test]
fn lines_after_an_error_are_shown_within_a_second() {
    let project = project("print('no error so far', flush=True)\ntime.sleep(600)");
    let (mut process, _out) = spawn(&project, &["--start-timeout", "60"]);
    let mut err = BufReader::new(process.stderr.take().unwrap()).lines();
    let began = Instant::now();
    assert!(err.any(|line| line.unwrap().contains("no error so far")));
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    signal_process(process.id(), "INT");
    process.wait().unwrap();
}

#[test]
fn a_server_that_never_answers_is_stopped_after_the_timeout() {
    let project = project("print('asleep', flush=True)\ntime.sleep(600)");
    let options = ["--no-browser", "--no-reload", "--python", "tools/python", "--start-timeout", "10"];
    let (code, _, err) = project.fails(&options);
    assert_eq!(code, 1);
    assert!(err.contains("after 10 s: its last line was: asleep"), "{err}");
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn a_third_signal_ends_the_program_whatever_hangs() {
    let project = project(&format!("{ANSWER}while True: print('x' * 80)"));
    let (mut process, mut out) = spawn(&project, &["--json"]);
    until(&mut out, |event| event["event"] == "ready");
    // Nobody reads on, and writing blocks.
    thread::sleep(Duration::from_secs(1));
    for _ in 0..3 {
        signal_process(process.id(), "INT");
        thread::sleep(Duration::from_secs(1));
    }
    let deadline = Instant::now() + Duration::from_secs(1);
    while process.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "three signals did not end it");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(process.wait().unwrap().signal(), Some(2));
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn interrupting_an_installer_is_not_silent() {
    let project = project(ANSWER);
    project.write("missing", "\"thing\"").write("install-takes", "600");
    project.write("tools/uv", UV.replace("pip) sleep", "pip) trap '' TERM; sleep"));
    let mut dev = project.start(&["--python", "tools/python"]);
    dev.until("provisioning");
    let deadline = Instant::now() + PATIENCE;
    while !processes(project.directory.path()).iter().any(|process| process.contains("sleep 600")) {
        assert!(Instant::now() < deadline, "the installer does not start");
        thread::sleep(Duration::from_millis(20));
    }
    dev.signal("INT");
    let note = dev.until("note");
    assert_eq!(note["message"], "waiting for child processes to exit; press Ctrl-C again to kill it");
    dev.signal("INT");
    assert_eq!(dev.ended().code(), Some(130));
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn a_slow_installer_shows_its_last_lines() {
    let project = project(&format!("{ANSWER}time.sleep(600)"));
    project.write("missing", "\"thing\"").write("install-takes", "12");
    project.write("tools/uv", UV.replace("pip) sleep", "pip) seq -f 'step %g' 9; sleep"));
    let (mut process, _out) = spawn(&project, &[]);
    let err = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
    let shown: Vec<String> = err.take_while(|line| !line.starts_with("installed: ")).collect();
    let steps: Vec<&str> = shown.iter().map(String::as_str).filter(|line| line.starts_with("step")).collect();
    assert_eq!(steps, ["step 5", "step 6", "step 7", "step 8", "step 9"], "{shown:#?}");
    signal_process(process.id(), "INT");
    process.wait().unwrap();
}

#[test]
fn the_hint_about_the_server_needs_a_conflict_with_the_server() {
    let project = project(ANSWER);
    project.write("missing", "\"thing\"");
    for (conflict, hint) in [
        ("only foo<2 is available and you require foo==2", "change them\n"),
        (
            "langgraph-api==0.16.7 depends on foo>2",
            "change them, or select another server with `api_version`\n",
        ),
    ] {
        let says = format!("pip) echo 'No solution found: {conflict}'; exit 1");
        project.write("tools/uv", UV.replace("pip) sleep", &format!("{says}; sleep")));
        let (code, _, err) = project.fails(&["--no-browser", "--python", "tools/python"]);
        assert_eq!(code, 1);
        assert!(err.ends_with(&format!("hint: some requirements are incompatible; {hint}")), "{err}");
    }
    let says = "The current Python version (3.12.1) does not satisfy Python>=3.13. No solution found";
    project.write("tools/uv", UV.replace("pip) sleep", &format!("pip) echo '{says}'; exit 1; sleep")));
    let (_, _, err) = project.fails(&["--no-browser", "--python", "tools/python"]);
    assert!(err.contains("hint: a package needs another Python; select one with"), "{err}");
}

#[test]
fn rules_about_images_do_not_stop_dev() {
    let project = project(&format!("{ANSWER}time.sleep(600)"));
    project.write("elsewhere/graph.py", "graph = object()\n").write("libs/tools.py", "");
    project.edit("agent.json", "\".\"", "\"./libs\"");
    project.edit("agent.json", "./src/hello/graph.py", "./elsewhere/graph.py");
    // A wrong value of a key that only images have, and a file that only their build reads.
    project.edit("agent.json", "{\n", "{\"base_image\": \"A B\", \"dockerfile_lines\": 5,\n");
    project.write(".dockerignore", "[\n");
    let mut validate = Command::new(crate::harness::program());
    let output = validate.arg("validate").current_dir(project.path("")).output().unwrap();
    let found = String::from_utf8(output.stdout).unwrap();
    let errors =
        ["reference-outside-dependencies", "invalid-base-image", "wrong-type", "invalid-dockerignore"];
    errors.iter().for_each(|code| assert!(found.contains(&format!("error[{code}]")), "{code}: {found}"));
    let (process, mut out) = spawn(&project, &["--json"]);
    until(&mut out, |event| event["event"] == "ready");
    end(process, out);
}

#[test]
fn directories_past_the_inotify_limit_are_named() {
    let project = project(&format!("{ANSWER}time.sleep(600)"));
    for name in ["a", "b", "c", "d", "e", "f"] {
        project.write(&format!("src/{name}/x.py"), "");
    }
    let mut limited = Command::new("unshare");
    let port = free_port().to_string();
    let script = r#"echo 4 >/proc/sys/user/max_inotify_watches && exec "$0" "$@""#;
    limited.args(["-Ur", "sh", "-c", script, crate::harness::program(), "dev", "--json", "--no-browser"]);
    limited.args(["--python", "tools/python", "--port", &port]).current_dir(project.path(""));
    for (name, value) in project.command(&[]).get_envs() {
        value.map(|value| limited.env(name, value));
    }
    let mut process = limited.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    let warning = until(&mut out, |event| event["event"] == "warning");
    let message = warning["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!(
            "cannot watch `{}/src/",
            project.path("").canonicalize().unwrap().display()
        )),
        "{message}"
    );
    assert!(message.contains("the limit fs.inotify.max_user_watches is reached"), "{message}");
    assert!(message.ends_with("changes there go unnoticed"), "{message}");
    end(process, out);
}

#[test]
fn the_debugger_stays_on_loopback_unless_told_otherwise() {
    let print = "print(json.loads(sys.argv[1])['debugger'][0], flush=True)";
    let project = project(&format!("{ANSWER}{print}\ntime.sleep(600)"));
    let port = free_port().to_string();
    let open = ["--json", "--host", "0.0.0.0", "--debug-port", &port];
    for (more, expected) in [(&[][..], "127.0.0.1"), (&["--debug-host", "0.0.0.0"], "0.0.0.0")] {
        let (process, mut out) = spawn(&project, &[&open, more].concat());
        let note = until(&mut out, |event| event["event"] == "note");
        let message = note["message"].as_str().unwrap();
        assert!(message.starts_with("other machines can reach the server at 0.0.0.0, port "), "{message}");
        assert_eq!(until(&mut out, |event| event["event"] == "log")["line"], expected);
        end(process, out);
    }
}
