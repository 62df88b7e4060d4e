//! An engine that hangs: its socket answers `/_ping` and nothing else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Project, Running};

/// Answers `/_ping`, and no other request. The socket goes with the directory.
pub(crate) fn hung_engine() -> (String, TempDir) {
    let directory = TempDir::new().unwrap();
    let listener = UnixListener::bind(directory.path().join("engine.sock")).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(&stream));
        }
    });
    (format!("unix://{}", directory.path().join("engine.sock").display()), directory)
}

fn answer(mut stream: &UnixStream) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.starts_with("GET /_ping ") {
            lines.by_ref().map_while(Result::ok).find(String::is_empty)?;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK").ok()?;
        }
    }
    Some(())
}

fn hung_project() -> (Project, TempDir) {
    let mut project = Project::new();
    let (host, socket) = hung_engine();
    project.host = host;
    (project, socket)
}

#[test]
fn one_signal_ends_up_and_down() {
    let (project, _socket) = hung_project();
    let up = project.up_command(&[]).spawn().unwrap();
    let down = project.command(&["down", "--json"]).spawn().unwrap();
    let build = project.command(&["up", "--wait", "--json"]).spawn().unwrap();
    for process in [up, down, build] {
        let mut running = Running::new(process);
        thread::sleep(Duration::from_secs(1));
        let asked = Instant::now();
        running.signal("-INT");
        assert_eq!(running.code(), 130);
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    }
}

#[test]
fn every_call_has_a_deadline() {
    let (project, _socket) = hung_project();
    let up = project.up_command(&["--wait"]).spawn().unwrap();
    let down = project.command(&["down", "--json"]).spawn().unwrap();
    for process in [up, down] {
        let mut running = Running::new(process);
        assert_eq!(running.code(), 4);
        let talk = running.talk();
        assert!(talk.contains("did not list its containers within 30 s"), "{talk}");
        assert!(talk.contains("check that the engine responds"), "{talk}");
    }
}
