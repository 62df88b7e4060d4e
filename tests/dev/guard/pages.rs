//! Pages in a browser, for which all names below `example` lead to this machine.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use super::Target;
use crate::harness::browser::Browser;

const FLAGS: &[&str] = &["--host-resolver-rules=MAP *.example 127.0.0.1", "--no-proxy-server"];

/// All that a page can send without being asked: what became of each.
const ATTACK: &str = r#"
const outcome = (promise) => promise.then((it) => it.status ?? it, (error) => error.name);
const event = (source, good) => new Promise((resolve) => {
    source[`on${good}`] = () => resolve(good);
    source.onerror = () => resolve("error");
});
const run = JSON.stringify({ assistant_id: "agent", input: { name: "Eve" } });
const post = (mode, path, body) => outcome(fetch(base + path, { method: "POST", mode, body }));
const form = document.createElement("form");
const frame = document.createElement("iframe");
frame.name = form.target = "frame";
Object.assign(form, { method: "post", enctype: "text/plain", action: base + "/threads" });
document.body.append(frame, form);
const loaded = new Promise((resolve) => { frame.onload = () => resolve("loaded"); });
form.submit();
return Promise.all([
    post("cors", "/threads", "{}"),
    post("cors", "/runs/wait", run),
    post("no-cors", "/runs/wait", run),
    outcome(fetch(`${base}/threads/${thread}`, { method: "DELETE" })),
    outcome(fetch(base + "/threads/search", { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } })),
    event(new WebSocket(`${base.replace("http", "ws")}/threads/${thread}/stream/events`), "open"),
    event(new EventSource(`${base}/threads/${thread}/stream`), "open"),
    navigator.sendBeacon(base + "/threads", "{}"),
    loaded,
]);
"#;

/// What the page of the studio does, and what it can read of it.
const WORK: &str = r#"
const json = { "Content-Type": "application/json" };
const body = JSON.stringify({ assistant_id: "agent", input: { name: "Ada" } });
return (async () => {
    const created = await fetch(base + "/threads", { method: "POST", headers: json, body: "{}" });
    const { thread_id } = await created.json();
    const stream = await fetch(`${base}/threads/${thread_id}/runs/stream`, { method: "POST", headers: json, body });
    const text = await stream.text();
    const deleted = await fetch(`${base}/threads/${thread_id}`, { method: "DELETE" });
    return [created.status, stream.headers.get("content-type"), text.includes("Hello, Ada!"), deleted.status];
})();
"#;

/// A server of empty pages.
pub(super) struct Pages {
    port: u16,
}

impl Pages {
    pub(super) fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // The browser opens connections ahead, and sends nothing on some of them.
                thread::spawn(move || {
                    let mut request = [0; 4096];
                    if let Ok(1..) = stream.read(&mut request) {
                        let page = "<!doctype html><title>page</title><body>";
                        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length:";
                        write!(stream, "{head} {}\r\n\r\n{page}", page.len()).ok();
                    }
                });
            }
        });
        Self { port }
    }

    /// The origin of the pages of a host.
    pub(super) fn origin(&self, host: &str) -> String {
        format!("http://{host}:{}", self.port)
    }
}

/// The script with the server's address and a thread.
fn script(target: &Target, text: &str) -> String {
    let base = format!("http://127.0.0.1:{}", target.port);
    format!("const base = {}, thread = {};\n{text}", json!(base), json!(target.thread))
}

pub(super) fn are_refused(target: &Target) {
    let browser = Browser::open_with(&target.pages.origin("evil.example"), FLAGS);
    let outcomes = browser.run(&script(target, ATTACK));
    // A page learns nothing of an opaque answer, whose status is 0, nor of what a beacon or a form led to.
    let unread =
        json!(["TypeError", "TypeError", 0, "TypeError", "TypeError", "error", "error", true, "loaded"]);
    assert_eq!(outcomes, unread);

    let rebound = format!("http://evil.example:{}/ok", target.port);
    browser.go(&rebound);
    let shown = browser.run("return document.body.innerText");
    assert!(shown.as_str().unwrap().contains("refused a request for the host `evil.example:"), "{shown}");
    let outcomes = browser.run(
        "const post = (path) => fetch(path, { method: 'POST', body: '{}' }).then((it) => it.status);
         return Promise.all([post('/threads'), post('/threads/search'), post('/store/items/search')]);",
    );
    assert_eq!(outcomes, json!([421, 421, 421]));
}

pub(super) fn of_the_studio_work(target: &Target) {
    let browser = Browser::open_with(&target.pages.origin("studio.example"), FLAGS);
    let outcomes = browser.run(&script(target, WORK));
    assert_eq!(outcomes[0], 200, "{outcomes}");
    let kind = outcomes[1].as_str().unwrap();
    assert!(kind.starts_with("text/event-stream"), "{outcomes}");
    assert_eq!(outcomes[2], Value::Bool(true), "{outcomes}");
    assert!(matches!(outcomes[3].as_u64(), Some(200 | 204)), "{outcomes}");
}
