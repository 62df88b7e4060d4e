//! A small editor.

use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use lsp_server::Message;
use serde_json::{Value, json};

use crate::harness::{PATIENCE, TestEnv};

/// An editor with a project and a server.
pub(crate) struct Client {
    pub(crate) project: TestEnv,
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    inbox: Receiver<Message>,
    next_id: i32,
}

impl Client {
    /// Starts a server, and nothing else.
    pub(crate) fn start(project: TestEnv) -> Self {
        let mut child = Command::new(crate::harness::program())
            .args(["lsp", "--stdio"])
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, inbox) = channel();
        thread::spawn(move || {
            while let Some(message) = Message::read(&mut output).expect("stdout has only messages") {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { project, child, input, inbox, next_id: 0 }
    }

    /// Starts a session of an editor with these capabilities.
    pub(crate) fn open_with(project: TestEnv, capabilities: Value) -> (Self, Value) {
        let mut client = Self::start(project);
        let params = json!({"processId": null, "rootUri": null, "capabilities": capabilities});
        let welcome = client.request("initialize", params);
        client.notify("initialized", json!({}));
        (client, welcome)
    }

    /// Starts a session in which `agent.json` is open with `text`, which is not saved.
    pub(crate) fn editing(project: TestEnv, text: &str) -> Self {
        let (mut client, _) = Self::open_with(project, json!({}));
        client.open("agent.json", text);
        client
    }

    /// The URI of a file of the project.
    pub(crate) fn uri(&self, path: &str) -> String {
        url::Url::from_file_path(self.project.path(path)).unwrap().to_string()
    }

    pub(crate) fn send_raw(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).unwrap();
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_raw(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The response to a request: its result, or its error.
    pub(crate) fn try_request(&mut self, method: &str, params: Value) -> Result<Value, i32> {
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        loop {
            if let Message::Response(response) = self.receive() {
                assert_eq!(response.id, self.next_id.into());
                return response.response_result.map_err(|error| error.code);
            }
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.try_request(method, params).unwrap()
    }

    pub(crate) fn receive(&self) -> Message {
        self.inbox.recv_timeout(PATIENCE).expect("the server sends a message")
    }

    /// The next findings that are published: the version of the text, and the findings.
    pub(crate) fn findings(&self) -> (Value, Vec<Value>) {
        loop {
            if let Message::Notification(notification) = self.receive() {
                assert_eq!(notification.method, "textDocument/publishDiagnostics");
                let found = notification.params["diagnostics"].as_array().unwrap().clone();
                return (notification.params["version"].clone(), found);
            }
        }
    }

    /// The codes of the next findings.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.findings().1.iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn open(&mut self, path: &str, text: &str) {
        let document = json!({"uri": self.uri(path), "languageId": "json", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces a part of `agent.json`, from one line and column to another.
    pub(crate) fn edit(&mut self, version: i32, start: (u32, u32), end: (u32, u32), text: &str) {
        let at = |(line, character)| json!({"line": line, "character": character});
        let change = json!({"range": {"start": at(start), "end": at(end)}, "text": text});
        self.change(version, &change);
    }

    pub(crate) fn change(&mut self, version: i32, change: &Value) {
        let document = json!({"uri": self.uri("agent.json"), "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }

    /// Asks about the place of `agent.json` with this line and column.
    pub(crate) fn ask(&mut self, method: &str, line: u32, character: u32) -> Value {
        let position = json!({"line": line, "character": character});
        let document = json!({"uri": self.uri("agent.json")});
        self.request(method, json!({"textDocument": document, "position": position}))
    }

    /// Asks about `agent.json` as a whole.
    pub(crate) fn ask_whole(&mut self, method: &str) -> Value {
        let document = json!({"uri": self.uri("agent.json")});
        self.request(method, json!({"textDocument": document}))
    }

    /// Closes the input, and returns the exit code and what the server says on stderr.
    pub(crate) fn end(&mut self) -> (i32, String) {
        self.input = None;
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code().unwrap(), err)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.input = None;
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}
