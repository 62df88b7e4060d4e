//! `agentcli invoke` with servers that break or misbehave.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::harness::{Output, TestEnv};

/// The address of a server that answers each request with the next of `answers`, piece by piece. It stops when the client
/// has gone.
fn serve(answers: Vec<Vec<Vec<u8>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for answer in answers {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            // A request with a body ends with a JSON object here.
            let is_whole = |request: &[u8]| {
                let is_bare = request.starts_with(b"GET") && request.ends_with(b"\r\n\r\n");
                is_bare || request.ends_with(b"}")
            };
            while !is_whole(&request) {
                match connection.read(&mut piece).unwrap() {
                    0 => break,
                    length => request.extend_from_slice(&piece[..length]),
                }
            }
            for piece in answer {
                if connection.write_all(&piece).is_err() {
                    break;
                }
            }
        }
    });
    url
}

/// An answer with this status line, headers and body; the connection ends it.
fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<Vec<u8>> {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
    vec![head.into_bytes(), body.to_vec()]
}

/// A stream of events.
fn events(body: &[u8]) -> Vec<Vec<u8>> {
    answer("200 OK", "Content-Type: text/event-stream\r\n", body)
}

fn invoke(answers: Vec<Vec<Vec<u8>>>, arguments: &[&str]) -> Output {
    let url = serve(answers);
    TestEnv::empty().run_with(&[&["invoke", "--url", &url, "graph", "{}"], arguments].concat())
}

#[test]
fn broken_answers_are_errors() {
    let state = b"event: values\ndata: {\"a\": 1}\n\n".as_slice();
    let endless: Vec<Vec<u8>> = events(b"data: ").into_iter().chain(vec![vec![b'x'; 1 << 20]; 64]).collect();
    let length = "Content-Type: text/event-stream\r\nContent-Length: 500\r\n";
    let chunked = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n";
    let json = "Content-Type: application/json\r\n";
    let redirect = "Location: http://other.example/hidden\r\n";
    let wrong = r#"{"detail": "the key hidden-key is wrong\u001b[2J"}"#.as_bytes();
    for (given, code, expected) in [
        (events(b""), 1, "it ended without a state of the graph"),
        (events(b"event: values\ndata: {\"a\n\n"), 1, "an event is not JSON at line 1"),
        (events(b"event: values\ndata: \"\xff\"\n\n"), 1, "an event is not JSON at line 1"),
        (endless, 1, "an event is larger than 33554432 bytes"),
        (answer("200 OK", length, state), 1, "cannot read the response of http://127.0.0.1:"),
        (answer("200 OK", chunked, b"5\r\nevent"), 1, "cannot read the response of http://127.0.0.1:"),
        (answer("200 OK", json, b"{}"), 1, "its content type is `application/json`"),
        (answer("307 Temporary Redirect", redirect, b""), 1, "to `http://other.example`; redirects are not"),
        (answer("401 Unauthorized", json, wrong), 3, "with status 401: the key … is wrong\\u{1b}[2J\nhint: "),
        (answer("403 Forbidden", "", b""), 3, "with status 403: Forbidden\nhint: "),
        (answer("404 Not Found", "", b"no thread"), 1, "with status 404: no thread\nhint: check"),
        (answer("422 Unprocessable Entity", json, b"{\"detail\": [1]}"), 1, "with status 422: [1]\n"),
        (answer("500 Internal Server Error", "", b""), 4, "with status 500: Internal Server Error"),
        (vec![b"nonsense".to_vec()], 1, "cannot read the response"),
        (
            events(b"event: error\ndata: {\"error\": \"E\", \"message\": \"hidden-key\"}\n\n"),
            1,
            "failed: E: …\n",
        ),
    ] {
        let run = invoke(vec![given], &["--header", "X-Key: hidden-key"]);
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{expected}: {}", run.err);
        assert!(run.err.contains(expected) && !run.err.contains("hidden-key"), "{expected}: {}", run.err);
    }
    let run = TestEnv::empty().run("invoke --url http://127.0.0.1:9 graph {}");
    assert_eq!(run.code, 4, "{}", run.err);
    assert!(
        run.err.starts_with("error: cannot connect to the server at http://127.0.0.1:9: "),
        "{}",
        run.err
    );
}

#[test]
fn text_needs_a_graph_with_messages() {
    let json = |body: &str| answer("200 OK", "Content-Type: application/json\r\n", body.as_bytes());
    let assistants = r#"[{"assistant_id": "1", "graph_id": "graph", "name": "x"}]"#;
    let url = serve(vec![json(assistants), json("nothing")]);
    let run = TestEnv::empty().run_with(&["invoke", "--url", &url, "two words"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("it is not what an agent server answers"), "{}", run.err);
    let run = TestEnv::project().run("invoke two");
    assert_eq!(run.code, 2);
    let expected =
        "error: no server runs for the project here\nhint: start one with `agentcli dev` or `agentcli up`, ";
    assert!(run.err.starts_with(expected), "{}", run.err);
}
