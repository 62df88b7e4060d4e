//! Engines that answer without end: the program stays small, says so, and hears Ctrl-C.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use agentcli::engine::{Engine, Error};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{env, wait};
use crate::harness::{self, PATIENCE, TestEnv, program};

/// The address space of a program, in KiB: several times of what it uses, and less than an engine sends in a second.
const SPACE: &str = "1500000";

/// An engine that answers everything but `_ping` with `start`, and then `rest` again and again. Returns its address, what
/// keeps it there, and a message for each such answer.
fn engine(start: &'static str, rest: &'static str) -> (String, TempDir, Receiver<()>) {
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let (sender, begun) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            thread::spawn(move || _ = answer(stream, start, rest, || _ = sender.send(())));
        }
    });
    (format!("unix://{}", socket.display()), directory, begun)
}

fn answer(mut stream: UnixStream, start: &str, rest: &str, begun: impl Fn()) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    if head.contains("/_ping ") {
        return stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK");
    }
    if head.starts_with("POST /session") {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    // The context of a build.
    thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    let chunk = rest.repeat((64 << 10) / rest.len() + 1);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    write!(stream, "{head}{:x}\r\n{start}\r\n", start.len())?;
    begun();
    loop {
        write!(stream, "{:x}\r\n{chunk}\r\n", chunk.len())?;
    }
}

fn start(project: &TestEnv, host: &str, arguments: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {SPACE}; exec {} {arguments}", program())])
        .current_dir(project.path(""))
        .env("DOCKER_HOST", host)
        .env("XDG_CACHE_HOME", project.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The exit code and stderr of a program that ends.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut err = child.stderr.take().unwrap();
    let said = thread::spawn(move || {
        let mut text = Vec::new();
        err.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    // Both closures need the thread, and one of them runs.
    let said = RefCell::new(Some(said));
    let text = || said.take().unwrap().join().unwrap();
    (harness::ended(&mut child, |_| text()).code(), text())
}

#[test]
fn an_answer_without_end_is_an_error() {
    let project = TestEnv::project();
    for (start_of_answer, rest) in [("{\"stream\":\"", "x"), ("[", "{},\n")] {
        let (host, _kept, _) = engine(start_of_answer, rest);
        for arguments in ["build --tag x", "up", "down"] {
            let (code, err) = ended(start(&project, &host, arguments));
            assert!(code.is_some_and(|code| code != 0), "{arguments}: {code:?} {err}");
            assert!(err.contains("error: ") && !err.contains("panic"), "{arguments}: {err}");
        }
        let (_, err) = ended(start(&project, &host, "down"));
        assert!(err.contains("its answer is longer than 32 MiB"), "{err}");
    }
}

/// The engine goes on as long as it is heard, which is no mistake of one message.
#[test]
fn a_build_without_end_is_interrupted() {
    let project = TestEnv::project();
    for rest in ["{\"stream\":\"STEP 1/2: RUN x\\n\"}\r\n{\"stream\":\"y\\n\"}\r\n", "{\"stream\":\"y\"}\n"] {
        let (host, _kept, begun) = engine("{}\n", rest);
        let child = start(&project, &host, "build --no-cache --tag x");
        begun.recv_timeout(PATIENCE).unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let (code, err) = ended(child);
        // Too many steps are an error.
        assert!(matches!(code, Some(130 | 1)), "{code:?} {err}");
    }
}

#[test]
fn each_message_of_a_stream_is_bounded() {
    let failed = |done: Result<(), Error>| done.unwrap_err().to_string();
    let (host, _kept, _) = engine("{\"status\":\"", "x");
    wait(async {
        let engine = Engine::connect(&env(&host)).await.unwrap();
        let error = failed(engine.pull("registry.example/x", |_| {}).await);
        assert!(error.contains("its answer is longer than 8 MiB"), "{error}");
        let (lines, _waiting) = agentcli::live::lines();
        engine.follow("x", 0, "x".to_owned(), lines).await;
    });
    // The header of a piece of 4 GiB.
    let (host, _kept, _) = engine("\u{1}\0\0\0\x7f\x7f\x7f\x7f", "x");
    wait(async {
        let engine = Engine::connect(&env(&host)).await.unwrap();
        let error = failed(engine.last_lines("x", 10).await.map(drop));
        assert!(error.contains("its answer is longer than 8 MiB"), "{error}");
    });
}
