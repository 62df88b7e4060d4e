//! Servers that agentcli installs itself, which need no key.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use agentcli::compiler::server::setup::database_uri;

use super::Project;
use crate::engine::docker;
use crate::harness;

pub(super) const AGENT: &str = r#"
import os
import time

from typing_extensions import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    number: int
    seconds: float
    blocks: float
    user: str


async def block(state):
    """Holds the event loop of the server, if asked to."""
    if "blocks" in state:
        with open("/tmp/blocked", "a") as file:
            file.write("once ")
    end = time.monotonic() + state.get("blocks", 0)
    while time.monotonic() < end:
        pass
    return {}


def add(state):
    time.sleep(state.get("seconds", 0))
    return {"number": state.get("number", 0) + 1, "user": str(os.getuid())}


graph = StateGraph(State).add_node("block", block).add_node("add", add)
graph = graph.add_edge(START, "block").add_edge("block", "add").add_edge("add", END).compile()
"#;

/// References to authentication that cannot be loaded: no file, no such name, another object, an error.
const BROKEN_HANDLERS: &[&str] = &[
    "/deps/app/none.py:auth",
    "/deps/app/auth.py:none",
    "/deps/app/auth.py:own",
    "/deps/app/broken.py:auth",
];

/// Everybody sees their own threads; who has no key is refused.
const AUTH: &str = r#"
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def user(headers):
    key = headers.get(b"x-key", b"").decode()
    if key not in ("ada", "bob"):
        raise Auth.exceptions.HTTPException(status_code=401, detail="no key")
    return {"identity": key}


@auth.on
async def own(ctx, value):
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}
"#;

/// Routes of the project's own, whose start-up is part of the server's.
const APP: &str = r#"
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


@asynccontextmanager
async def lifespan(app):
    app.state.greeting = "Hello from a route"
    yield


async def hello(request):
    return PlainTextResponse(app.state.greeting)


app = Starlette(routes=[Route("/hello", hello)], lifespan=lifespan)
"#;

pub(super) fn project() -> Project {
    let project = Project::new();
    // Variables that would make another server of it, or open its routes for tests.
    let env = json!({ "MIGRATIONS_PATH": "__inmem", "DATABASE_URI": "postgres://nowhere/db", "REDIS_URI": "redis://nowhere" });
    let config = json!({
        "dependencies": ["."],
        "graphs": { "agent": "./agent.py:graph" },
        "auth": { "path": "./auth.py:auth" },
        "http": { "app": "./app.py:app" },
        "env": env,
    });
    project.write("agent.json", &config.to_string());
    project.write("agent.py", AGENT);
    project.write("auth.py", AUTH);
    project.write("broken.py", "raise RuntimeError('no')\n");
    project.write("app.py", APP);
    project.write("requirements.txt", "");
    project
}

impl Project {
    fn wait_for(&self, server: &str) {
        let up = self.up(&["--wait", "--server", server]);
        assert_eq!(up.code, 0, "{up:?}");
        assert!(up.talk.contains(&format!("the server is `{server}` (--server)")), "{}", up.talk);
        assert!(!up.talk.contains("no API key"), "{}", up.talk);
    }

    /// The status of a POST request.
    fn status(&self, headers: &[&str], route: &str) -> String {
        let headers = headers.iter().flat_map(|header| ["-H", header]);
        let url = format!("http://127.0.0.1:{}{route}", self.port);
        let output = Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "60", "-d", "{}"])
            .args(["-H", "content-type: application/json"])
            .args(headers)
            .arg(url)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The container of the server.
    pub(super) fn server(&self) -> String {
        self.container("langgraph-api")
    }

    fn container(&self, service: &str) -> String {
        let project = format!("label=com.docker.compose.project={}", self.name);
        let service = format!("label=com.docker.compose.service={service}");
        docker(&self.host, &["ps", "-aq", "--filter", &project, "--filter", &service]).trim().to_owned()
    }

    /// Runs a Python program in the container of the server, which gets `url`.
    pub(super) fn python(&self, program: &Path, url: &str) -> String {
        let arguments = ["-H", &self.host, "exec", "-i", &self.server(), "python3", "-", url];
        let program = File::open(program).unwrap();
        let output = Command::new("docker").args(arguments).stdin(program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Asks every route for what belongs to somebody else, and without a key.
    fn assert_nobody_reaches_others(&self) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/up/matrix.py");
        let found = self.python(&program, "http://127.0.0.1:8000");
        let (requests, wrong) = found.split_once(" requests, ").unwrap();
        assert!(requests.parse::<u32>().unwrap() > 100 && wrong.trim() == "0 wrong", "{found}");
        assert_eq!(self.curl(&["-H", "x-key: ada"], "/hello").as_deref(), Some("Hello from a route"));
    }

    fn post(&self, user: &str, route: &str, body: &Value) -> Value {
        let (user, body) = (format!("x-key: {user}"), body.to_string());
        let answer = self.curl(&["-H", &user, "-H", "content-type: application/json", "-d", &body], route);
        serde_json::from_str(&answer.unwrap_or_else(|| panic!("{route}: {:?}", self.left()))).unwrap()
    }
}

#[test]
fn the_server_in_memory_needs_no_key_and_keeps_its_state_on_a_volume() {
    let project = project();
    project.wait_for("memory");
    assert_eq!(project.running().len(), 1);
    let run = json!({ "assistant_id": "agent", "input": { "number": 41 } });
    assert_eq!(project.post("ada", "/runs/wait", &run), json!({ "number": 42, "user": "10001" }));

    // `invoke` finds it, and has to have the key, too.
    let invoke = |header: &str| {
        let mut command = project.command(&["invoke", "agent", r#"{"number": 1}"#, "--header", header]);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, out, err) = invoke("x-key: ada");
    assert_eq!((code, out.as_str()), (Some(0), "{\"number\":2,\"user\":\"10001\"}\n"), "{err}");
    let (code, _, err) = invoke("x-key: eve");
    assert!(code == Some(3) && err.contains("with status 401: no key"), "{err}");

    project.assert_nobody_reaches_others();

    // The authentication of the project is the only way in; a page of the studio has none beside it.
    assert_eq!(project.status(&[], "/threads"), "401");
    assert_eq!(project.status(&["x-auth-scheme: langsmith"], "/threads"), "401");
    assert_eq!(project.status(&["x-key: ada"], "/internal/truncate"), "404");
    assert_eq!(project.status(&["x-key: ada"], "/deploy"), "404");

    let thread = project.post("ada", "/threads", &json!({}))["thread_id"].as_str().unwrap().to_owned();
    project.post("ada", &format!("/threads/{thread}/runs/wait"), &run);
    project.down(&[]);
    let volume = format!("volume {}_agent-state", project.name);
    assert_eq!(project.left(), [volume]);

    project.wait_for("memory");
    let state =
        |user: &str| project.curl(&["-H", &format!("x-key: {user}")], &format!("/threads/{thread}/state"));
    let found: Value = serde_json::from_str(&state("ada").unwrap()).unwrap();
    assert_eq!(found["values"]["number"], 42, "{found}");
    assert_eq!(state("bob"), None);
    let image =
        docker(&project.host, &["inspect", "-f", "{{.Config.User}} {{.Config.Cmd}}", &project.server()]);
    assert_eq!(image.trim(), "10001:10001 [python3 /api/serve.py]");
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
    let (code, _, err) = invoke("x-key: ada");
    assert!(code == Some(2) && err.contains("no server runs for the project here"), "{err}");
}

const GRAPH_IN_TYPESCRIPT: &str = r#"
import { Annotation, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ number: Annotation<number>, user: Annotation<number> });

export const graph = new StateGraph(State)
  .addNode("add", ({ number }) => ({ number: number + 1, user: process.getuid() }))
  .addEdge("__start__", "add")
  .addEdge("add", "__end__")
  .compile();
"#;

const AUTH_IN_TYPESCRIPT: &str = r#"
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";

export const auth = new Auth().authenticate((request: Request) => {
  const key = request.headers.get("x-key") ?? "";
  if (!["ada", "bob"].includes(key)) throw new HTTPException(401, { message: "no key" });
  return { identity: key, permissions: [] };
});
"#;

#[test]
fn the_server_in_memory_runs_javascript_and_keeps_its_state_on_a_volume() {
    let project = Project::new();
    let versions = json!({ "@langchain/core": "1.1.48", "@langchain/langgraph": "1.4.18", "@langchain/langgraph-sdk": "1.12.0" });
    let package = json!({ "name": "agent", "type": "module", "private": true, "dependencies": versions });
    let config = json!({ "graphs": { "agent": "./graph.ts:graph" }, "auth": { "path": "./auth.ts:auth" } });
    project.write("agent.json", &config.to_string());
    project.write("package.json", &package.to_string());
    project.write("graph.ts", GRAPH_IN_TYPESCRIPT);
    project.write("auth.ts", AUTH_IN_TYPESCRIPT);
    project.wait_for("memory");
    let run = json!({ "assistant_id": "agent", "input": { "number": 41 } });
    assert_eq!(project.post("ada", "/runs/wait", &run), json!({ "number": 42, "user": 10001 }));
    assert_eq!(project.status(&[], "/threads"), "401");
    assert_eq!(project.status(&["x-auth-scheme: langsmith"], "/threads"), "401");
    for hidden in ["/internal/truncate", "/internal/%74runcate"] {
        assert_eq!(project.status(&["x-key: ada"], hidden), "404", "{hidden}");
    }

    let thread = project.post("ada", "/threads", &json!({}))["thread_id"].as_str().unwrap().to_owned();
    project.post("ada", &format!("/threads/{thread}/runs/wait"), &run);
    let start = Instant::now();
    docker(&project.host, &["stop", &project.server()]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let code = docker(&project.host, &["inspect", "-f", "{{.State.ExitCode}}", &project.server()]);
    assert_eq!(code.trim(), "0");
    project.down(&[]);
    project.wait_for("memory");
    let state = project.curl(&["-H", "x-key: ada"], &format!("/threads/{thread}/state")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&state).unwrap()["values"]["number"], 42, "{state}");
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
}

#[test]
fn an_edit_replaces_the_server_at_once_and_loses_nothing_that_it_acknowledged() {
    let project = project();
    let mut up = project.start(&["--watch", "--server", "memory"]);
    up.until_event("ready");
    let old = project.server();
    // A run that cannot be interrupted, and a client that waits for it.
    let run = project.start_run(60);
    let url = format!("http://127.0.0.1:{}/threads/{}/runs/{}/join", project.port, run.thread, run.id);
    let mut client = Command::new("curl").args(["-s", "-H", "x-key: ada", &url]).spawn().unwrap();
    let thread = project.post("ada", "/threads", &json!({}))["thread_id"].as_str().unwrap().to_owned();
    let began = docker(&project.host, &["info", "-f", "{{.SystemTime}}"]);

    project.edit("agent.py", "\"number\", 0) + 1", "\"number\", 0) + 2");
    up.until_event("reloading");
    up.until_event("ready");
    let of_run = json!({ "assistant_id": "agent", "input": { "number": 40 } });
    assert_eq!(project.post("ada", "/runs/wait", &of_run)["number"], 42);
    assert!(run.get(&format!("/threads/{thread}")).is_some());
    until("the run starts again", || run.has_status("running"));
    client.kill().ok();
    client.wait().unwrap();

    let ended = docker(&project.host, &["info", "-f", "{{.SystemTime}}"]);
    let filter = format!("label=com.docker.compose.project={}", project.name);
    let format = "{{.Action}} {{.ID}} {{.Actor.Attributes.exitCode}}";
    let events =
        ["events", "--since", began.trim(), "--until", ended.trim(), "--filter", &filter, "--format", format];
    let events = docker(&project.host, &events);
    let at = |action: &str, is_old: bool| {
        let is = |line: &str| line.starts_with(&format!("{action} ")) && line.contains(&old) == is_old;
        events.lines().position(is).unwrap_or_else(|| panic!("no {action}: {events}"))
    };
    // The new container is there before the old one is told to stop, and starts before that is removed.
    let order =
        [at("create", false), at("kill", true), at("die", true), at("start", false), at("destroy", true)];
    assert!(order.is_sorted(), "{events}");
    assert_eq!(events.lines().nth(at("die", true)).unwrap().split(' ').next_back(), Some("0"), "{events}");
    up.signal("-INT");
    assert_eq!(up.code(), 0);
}

#[test]
fn the_server_with_databases_needs_no_key_and_ends_runs_whatever_fails_meanwhile() {
    let project = project();
    let up = project.up(&["--wait", "--server", "pg"]);
    assert_eq!(up.code, 0, "{up:?}");
    assert_eq!(up.changes("langgraph-migrations"), ["created", "completed"]);
    let run = json!({ "assistant_id": "agent", "input": { "number": 41 } });
    assert_eq!(project.post("ada", "/runs/wait", &run), json!({ "number": 42, "user": "10001" }));
    // No heartbeat of this run comes from the event loop for longer than a run may be without one.
    let run = project.post_run(json!({ "number": 1, "blocks": 12 }));
    until("a run that blocks the event loop ends", || run.has_status("success"));
    project.assert_nobody_reaches_others();
    assert_eq!(docker(&project.host, &["exec", &project.server(), "cat", "/tmp/blocked"]), "once ");

    // The server of the changed project ends the run. Nothing of the database changed.
    let run = project.start_run(5);
    docker(&project.host, &["kill", &project.server()]);
    project.write("app.py", &format!("{APP}# changed\n"));
    let up = project.up(&["--wait", "--server", "pg"]);
    assert_eq!((up.code, up.changes("langgraph-migrations")), (0, vec!["unchanged"]), "{up:?}");
    assert_eq!(up.changes("langgraph-api")[0], "recreated", "{up:?}");
    until("the run of a killed server ends", || run.has_status("success"));

    let server = project.server();
    let run = project.start_run(5);
    docker(&project.host, &["stop", &server]);
    docker(&project.host, &["start", &server]);
    until("the run of a stopped server ends", || run.has_status("success"));

    // Nothing can be published while Redis is gone: the run waits for it.
    let run = project.start_run(2);
    docker(&project.host, &["stop", "-t", "0", &project.container("langgraph-redis")]);
    until("the run is interrupted", || run.has_status("pending"));
    docker(&project.host, &["start", &project.container("langgraph-redis")]);
    until("the run ends without Redis for a while", || run.has_status("success"));

    // No connection of before is used after a restart.
    let database = project.container("langgraph-postgres");
    docker(&project.host, &["restart", "-t", "0", &database]);
    until("the database is back", || project.status(&["x-key: ada"], "/threads/search") == "200");
    assert!(run.state()["values"]["number"] == 2);
    let item = "/store/items?namespace=ada&key=none";
    assert_eq!(project.curl(&["-H", "x-key: ada"], item).as_deref(), Some("null"));

    project.assert_broken_handlers_do_not_start();
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
}

/// A run of the graph.
struct Run<'a> {
    project: &'a Project,
    thread: String,
    id: String,
}

impl Run<'_> {
    fn get(&self, route: &str) -> Option<Value> {
        let answer = self.project.curl(&["-H", "x-key: ada"], route)?;
        Some(serde_json::from_str(&answer).unwrap())
    }

    fn has_status(&self, status: &str) -> bool {
        let run = self.get(&format!("/threads/{}/runs/{}", self.thread, self.id));
        let run = run.unwrap_or_default();
        assert_ne!(run["status"], "error", "{run}");
        run["status"] == status
    }

    fn state(&self) -> Value {
        self.get(&format!("/threads/{}/state", self.thread)).unwrap()
    }
}

impl Project {
    /// Starts a run on a new thread, and returns once it runs.
    fn start_run(&self, seconds: u32) -> Run<'_> {
        let run = self.post_run(json!({ "number": 1, "seconds": seconds }));
        until("the run is taken up", || run.has_status("running"));
        run
    }

    fn post_run(&self, input: Value) -> Run<'_> {
        let text = |value: Value| value.as_str().unwrap().to_owned();
        let thread = text(self.post("ada", "/threads", &json!({}))["thread_id"].take());
        let run = json!({ "assistant_id": "agent", "input": input });
        let id = text(self.post("ada", &format!("/threads/{thread}/runs"), &run)["run_id"].take());
        Run { project: self, thread, id }
    }

    /// Starts the image with authentication that does not work. Each server ends, instead of starting without it.
    fn assert_broken_handlers_do_not_start(&self) {
        let image = format!("{}-langgraph-api", self.name);
        let network = format!("{}_default", self.name);
        let start = |path: &&str| {
            let auth = format!("LANGGRAPH_AUTH={}", json!({ "path": path }));
            let database = format!("DATABASE_URI={}", database_uri());
            let redis = "REDIS_URI=redis://langgraph-redis:6379";
            let run = ["run", "-d", "--network", &network, "-e", &auth, "-e", &database, "-e", redis, &image];
            docker(&self.host, &run).trim().to_owned()
        };
        let containers: Vec<String> = BROKEN_HANDLERS.iter().map(start).collect();
        let codes = docker(&self.host, &[&["wait"], &strings(&containers)[..]].concat());
        docker(&self.host, &[&["rm"], &strings(&containers)[..]].concat());
        assert!(
            codes.lines().count() == containers.len() && codes.lines().all(|code| code != "0"),
            "{codes}"
        );
    }
}

fn strings(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

fn until(what: &str, is: impl Fn() -> bool) {
    harness::until(is, || format!("not in time: {what}"));
}

#[test]
fn a_failed_migration_ends_the_command_with_its_reason() {
    let project = project();
    let nowhere =
        ["--wait", "--server", "pg", "--postgres-uri", "postgres://ada:hidden@langgraph-redis:6379/a"];
    let up = project.up(&nowhere);
    assert_eq!(up.code, 1, "{up:?}");
    let failed = up.events.iter().find(|event| event["event"] == "failed").unwrap();
    assert_eq!(failed["service"], "langgraph-migrations");
    assert!(failed["last_lines"].to_string().contains("cannot migrate the database: "), "{failed}");
    assert!(!format!("{up:?}").contains("hidden"), "{up:?}");
}
