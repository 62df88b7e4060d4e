//! A debugger attaches: the Debug Adapter Protocol, as an editor speaks it, with the real debugpy at the other end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{PATIENCE, Project, call};
use crate::harness::free_port;

struct Client {
    stream: BufReader<TcpStream>,
    sent: u64,
}

impl Client {
    fn attach(port: u16) -> Self {
        let deadline = Instant::now() + PATIENCE;
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(stream), sent: 0 }
    }

    fn send(&mut self, command: &str, arguments: Value) {
        self.sent += 1;
        let message =
            json!({ "seq": self.sent, "type": "request", "command": command, "arguments": arguments })
                .to_string();
        write!(self.stream.get_mut(), "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    }

    /// Reads until an event or an answer of this name comes.
    fn until(&mut self, kind: &str, name: &str) -> Value {
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line).unwrap();
                match line.trim().strip_prefix("Content-Length: ") {
                    Some(number) => length = number.parse().unwrap(),
                    None if line.trim().is_empty() => break,
                    None => {}
                }
            }
            let mut text = vec![0; length];
            self.stream.read_exact(&mut text).unwrap();
            let message: Value = serde_json::from_slice(&text).unwrap();
            if message["type"] == kind && (message["event"] == name || message["command"] == name) {
                return message;
            }
        }
    }
}

#[test]
fn a_client_attaches_stops_at_a_breakpoint_and_goes_on() {
    let project = Project::of("hello");
    let port = free_port();
    let mut dev = project.start(&["--no-reload", "--debug-port", &port.to_string(), "--wait-for-client"]);
    let ready = format!("a debugger can attach at 127.0.0.1:{port}; the server waits for it");
    while dev.until("note")["message"] != ready {}
    let mut client = Client::attach(port);
    assert!(dev.within(Duration::from_millis(500)).iter().all(|event| event["event"] != "ready"), "it waits");
    client.send("initialize", json!({ "adapterID": "test", "pathFormat": "path", "linesStartAt1": true }));
    client.until("response", "initialize");
    client.send("attach", json!({ "connect": { "host": "127.0.0.1", "port": port } }));
    client.until("event", "initialized");
    let file = project.path("src/hello/graph.py").canonicalize().unwrap();
    let line =
        project.read("src/hello/graph.py").lines().position(|line| line.contains("return {")).unwrap() + 1;
    client.send("setBreakpoints", json!({ "source": { "path": file }, "breakpoints": [{ "line": line }] }));
    client.send("configurationDone", json!({}));
    dev.until("ready");
    let url = format!("{}/runs/wait", dev.url());
    std::thread::scope(|scope| {
        let body = json!({ "assistant_id": "agent", "input": { "name": "Ada" } });
        let run = scope.spawn(|| call("POST", &url, body));
        let stopped = client.until("event", "stopped");
        assert_eq!(stopped["body"]["reason"], "breakpoint");
        client.send("stackTrace", json!({ "threadId": stopped["body"]["threadId"] }));
        let frames = client.until("response", "stackTrace");
        assert_eq!(frames["body"]["stackFrames"][0]["name"], "greet");
        client.send("continue", json!({ "threadId": stopped["body"]["threadId"] }));
        assert_eq!(run.join().unwrap()["greeting"], "Hello, Ada!");
    });
    dev.stop("INT");
    assert_eq!(project.processes(), [""; 0]);
}
