//! The life of a session.

use lsp_server::Message;
use serde_json::{Value, json};

use super::client::Client;
use crate::harness::{TestEnv, VALID};

#[test]
fn shutdown_and_exit_succeed() {
    let mut client = Client::editing(TestEnv::project(), VALID);
    assert_eq!(client.request("shutdown", Value::Null), Value::Null);
    assert_eq!(client.try_request("textDocument/hover", json!({})), Err(-32600));
    client.notify("exit", Value::Null);
    assert_eq!(client.end(), (0, String::new()));
}

#[test]
fn exit_without_shutdown_fails() {
    for says_exit in [true, false] {
        let mut client = Client::editing(TestEnv::project(), VALID);
        if says_exit {
            client.notify("exit", Value::Null);
        }
        let (code, err) = client.end();
        assert_eq!(code, 1);
        assert_eq!(err, "error: the editor ended the session without a `shutdown` request\n");
    }
}

#[test]
fn garbage_is_an_error_that_quotes_nothing() {
    for garbage in
        ["hunter\n", "Content-Length: 6\r\n\r\nhunter", "Content-Length: 99999999999999999999\r\n\r\n"]
    {
        let mut client = Client::start(TestEnv::empty());
        client.send_raw(garbage);
        let (code, err) = client.end();
        assert_eq!(code, 1, "{err}");
        assert!(err.starts_with("error: cannot read from the editor: ") && err.contains("\nhint: "), "{err}");
        assert!(!err.contains("hunter") && !err.contains("panic"), "{err}");
    }
}

#[test]
fn a_malformed_message_does_not_end_the_session() {
    let message = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let mut input = message(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    for malformed in [
        message("hunter"),
        message("[]"),
        message(r#"{"jsonrpc":"2.0","id":7,"hunter":1}"#),
        "Content-Length: hunter\r\n\r\n{}".to_owned(),
        "hunter\r\n".to_owned(),
    ] {
        input += &malformed;
        input += &message(r#"{"jsonrpc":"2.0","id":2,"method":"textDocument/hunt","params":{}}"#);
    }
    input += &message(r#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#);
    input += &message(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    let mut answers = Vec::new();
    let mut send = |text: &str| {
        let body = text.split_once("\r\n\r\n").unwrap().1;
        answers.push(serde_json::from_str::<Value>(body).unwrap());
        Ok(())
    };
    agentcli::lsp::serve(std::io::Cursor::new(input), &mut send).unwrap();
    let codes: Vec<i64> = answers.iter().filter_map(|it| it["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32700, -32601, -32600, -32601, -32600, -32601, -32700, -32601, -32700, -32601]);
    assert_eq!(answers[5]["id"], 7);
    let malformed = answers.iter().filter(|it| it["error"]["code"] != -32601).map(Value::to_string);
    assert!(!malformed.collect::<String>().contains("hunter"));
}

#[test]
fn requests_out_of_order_are_refused() {
    let mut client = Client::start(TestEnv::project());
    assert_eq!(client.try_request("textDocument/hover", json!({})), Err(-32002));
    client.request("initialize", json!({"capabilities": {}}));
    assert_eq!(client.try_request("initialize", json!({"capabilities": {}})), Err(-32600));
    assert_eq!(client.try_request("textDocument/unheard", json!({})), Err(-32601));
    client.notify("textDocument/didOpen", json!({"nonsense": true}));
    client.notify("$/unheard", json!([1]));
    client.open("agent.json", VALID);
    assert_eq!(client.codes(), [""; 0]);
}

#[test]
fn utf8_positions_are_used_if_the_editor_offers_them() {
    let (_, welcome) = Client::open_with(TestEnv::project(), json!({}));
    assert_eq!(welcome["capabilities"]["positionEncoding"], "utf-16");
    let offered = json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}});
    let (mut client, welcome) = Client::open_with(TestEnv::project(), offered);
    assert_eq!(welcome["capabilities"]["positionEncoding"], "utf-8");
    client.open("agent.json", r#"{"dependencies": ["."], "graphs": {"😀": "./agent.py:nope"}}"#);
    let (_, found) = client.findings();
    let graph = found.iter().find(|it| it["code"] == "undefined-name").unwrap();
    assert_eq!(graph["range"]["start"]["character"], 35 + "\"😀\": \"./agent.py:".len());
}

#[test]
fn files_are_watched_by_an_editor_that_can() {
    let capabilities = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let (client, _) = Client::open_with(TestEnv::project(), capabilities);
    let Message::Request(request) = client.receive() else { panic!("the server registers its watchers") };
    assert_eq!(request.method, "client/registerCapability");
    let registration = &request.params["registrations"][0];
    assert_eq!(registration["method"], "workspace/didChangeWatchedFiles");
    assert!(registration["registerOptions"]["watchers"].to_string().contains("/.env*"));
}

/// One thread works and one reads; a runtime or a connection would show here.
#[cfg(target_os = "linux")]
#[test]
fn there_is_no_runtime_and_no_socket() {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;

    let client = Client::editing(TestEnv::project(), VALID);
    client.findings();
    let sockets = |process: &str| -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).collect()
    };
    let process = client.child.id().to_string();
    let inherited = sockets("self");
    let own: Vec<PathBuf> = sockets(&process).difference(&inherited).cloned().collect();
    assert!(own.is_empty(), "{own:?}");
    assert_eq!(fs::read_dir(format!("/proc/{process}/task")).unwrap().count(), 2);
}
