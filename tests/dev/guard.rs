//! What web pages can do to the server: nothing, unless the user trusts their origin. One server of each language is asked
//! over plain sockets, route by route, and by pages in a browser.

mod pages;
mod raw;
mod requests;
mod routes;

use serde_json::{Value, json};

use super::javascript::{GRAPH, project as javascript};
use super::{Dev, Project};
use crate::harness::free_port;
use pages::Pages;
use raw::Response;
pub(super) use raw::ask;

/// What a page that nobody trusts sends.
const FOREIGN: &str = "https://evil.example";

/// A running server with a thread that has a run, an item in its store, and pages that know its studio.
struct Target<'a> {
    project: &'a Project,
    dev: Dev,
    port: u16,
    pages: Pages,
    thread: String,
    run: String,
    assistant: String,
}

impl<'a> Target<'a> {
    fn start(project: &'a Project) -> Self {
        let (port, pages) = (free_port(), Pages::serve());
        let studio = pages.origin("studio.example");
        let port_text = port.to_string();
        let dev =
            project.ready(&["--no-reload", "--port", &port_text, "--studio-url", &format!("{studio}/s/")]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let thread = text(&dev.call("POST", "/threads", json!({}))["thread_id"]);
        let input = json!({ "assistant_id": "agent", "input": { "name": "Ada" } });
        dev.call("POST", &format!("/threads/{thread}/runs/wait"), input);
        let run = text(&dev.call("GET", &format!("/threads/{thread}/runs"), Value::Null)[0]["run_id"]);
        dev.call("PUT", "/store/items", json!({ "namespace": ["a"], "key": "k", "value": { "v": 1 } }));
        let assistant = text(&dev.call("POST", "/assistants/search", json!({}))[0]["assistant_id"]);
        Self { project, dev, port, pages, thread, run, assistant }
    }

    /// Everything that a request may change: what the server has, and how often the graph ran.
    fn state(&self) -> Value {
        let search = |route: &str, body| self.dev.call("POST", route, body);
        let threads = search("/threads/search", json!({ "limit": 1000 }));
        let ids = threads.as_array().unwrap().iter().map(|thread| thread["thread_id"].as_str().unwrap());
        let runs = ids.map(|id| self.dev.call("GET", &format!("/threads/{id}/runs"), Value::Null));
        json!({
            "runs": runs.collect::<Vec<_>>(),
            "threads": threads,
            "assistants": search("/assistants/search", json!({ "limit": 1000 })),
            "items": search("/store/items/search", json!({ "namespace_prefix": [], "limit": 1000 })),
            "ran": self.project.read("ran.txt"),
        })
    }

    /// Asks with these headers beside a `Host` that is accepted.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let host = format!("127.0.0.1:{}", self.port);
        ask(self.port, method, path, &[&[("Host", &*host)], headers].concat(), body)
    }

    fn resists(&self, routes: &[(String, String)]) {
        let before = self.state();
        requests::are_judged(self);
        routes::refuse_foreign_pages(self, routes);
        pages::are_refused(self);
        assert_eq!(self.state(), before, "a foreign page changed the state");
        self.dev.hear_once(&format!("`{FOREIGN}`; to allow it, add it to"));
        pages::of_the_studio_work(self);
    }
}

const AUTH: &str = r#"
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers):
    if b"x-deny" in headers:
        raise Auth.exceptions.HTTPException(status_code=401, detail="denied")
    return "user"
"#;

const JAVASCRIPT_AUTH: &str = r#"
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";

export const auth = new Auth().authenticate(async (request) => {
  if (request.headers.has("x-deny")) throw new HTTPException(401, { message: "denied" });
  return "user";
});
"#;

#[test]
fn foreign_pages_cannot_use_the_python_server() {
    let project = Project::of("hello");
    project.write("auth.py", AUTH);
    project.edit("agent.json", r#""graphs""#, r#""auth": { "path": "./auth.py:auth" }, "graphs""#);
    project.edit("src/hello/graph.py", "    return {", "    open('ran.txt', 'a').write('x')\n    return {");
    let target = Target::start(&project);
    let described = target.dev.call("GET", "/openapi.json", Value::Null);
    let undescribed =
        [("GET", "/"), ("GET", "/openapi.json"), ("POST", "/internal/truncate"), ("POST", "/deploy")];
    let undescribed = undescribed.map(|(method, path)| (method.to_owned(), path.to_owned()));
    let routes = [routes::described(&described), undescribed.to_vec()].concat();
    assert!(routes.len() > 50, "{routes:?}");
    target.resists(&routes);
    requests::websockets_are_judged(&target);
    target.dev.stop("INT");
}

#[test]
fn foreign_pages_cannot_use_the_javascript_server() {
    let project = javascript();
    project.write("auth.mjs", JAVASCRIPT_AUTH);
    project.edit("agent.json", r#""graphs""#, r#""auth": { "path": "./auth.mjs:auth" }, "graphs""#);
    let graph = project.read(GRAPH);
    let graph = graph.replace("(state) => (", "(state) => (appendFileSync('ran.txt', 'x'), ");
    project.write(GRAPH, format!("import {{ appendFileSync }} from 'node:fs';\n{graph}"));
    let target = Target::start(&project);
    let routes =
        routes::of_package(&project.path(".agentcli/node/node_modules/@langchain/langgraph-api/dist"));
    assert!(routes.len() > 40, "{routes:?}");
    target.resists(&routes);
    target.dev.stop("INT");
}
