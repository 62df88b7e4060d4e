//! Servers that agentcli installs itself, which need no key.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{PATIENCE, Project};
use crate::engine::docker;

const AGENT: &str = r#"
import os
import time

from typing_extensions import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    number: int
    seconds: float
    user: str


def add(state):
    time.sleep(state.get("seconds", 0))
    return {"number": state.get("number", 0) + 1, "user": str(os.getuid())}


graph = StateGraph(State).add_node("add", add).add_edge(START, "add").add_edge("add", END).compile()
"#;

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

fn project() -> Project {
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
    fn server(&self) -> String {
        let project = format!("label=com.docker.compose.project={}", self.name);
        let service = "label=com.docker.compose.service=langgraph-api";
        docker(&self.host, &["ps", "-q", "--filter", &project, "--filter", service]).trim().to_owned()
    }

    /// Runs a Python program in the container of the server, which it gets the address of.
    pub(super) fn python(&self, program: &Path) -> String {
        let arguments =
            ["-H", &self.host, "exec", "-i", &self.server(), "python3", "-", "http://127.0.0.1:8000"];
        let program = File::open(program).unwrap();
        let output = Command::new("docker").args(arguments).stdin(program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Asks every route for what belongs to somebody else, and without a key.
    fn assert_nobody_reaches_others(&self) {
        let found = self.python(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/up/matrix.py"));
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
    assert_eq!(image.trim(), "10001:10001 [/api/start]");
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
    let (code, _, err) = invoke("x-key: ada");
    assert!(code == Some(2) && err.contains("no server runs for the project here"), "{err}");
}

#[test]
fn the_server_with_a_database_needs_no_key_and_takes_up_runs_of_a_killed_one() {
    let project = project();
    let up = project.up(&["--wait", "--server", "pg-preview"]);
    assert_eq!(up.code, 0, "{up:?}");
    assert_eq!(up.changes("langgraph-migrations"), ["created", "completed"]);
    let run = json!({ "assistant_id": "agent", "input": { "number": 41 } });
    assert_eq!(project.post("ada", "/runs/wait", &run), json!({ "number": 42, "user": "10001" }));
    project.assert_nobody_reaches_others();

    let thread = project.post("ada", "/threads", &json!({}))["thread_id"].as_str().unwrap().to_owned();
    let slow = json!({ "assistant_id": "agent", "input": { "number": 1, "seconds": 5 } });
    let run = project.post("ada", &format!("/threads/{thread}/runs"), &slow)["run_id"].clone();
    let route = format!("/threads/{thread}/runs/{}", run.as_str().unwrap());
    let status = || {
        let run: Value = serde_json::from_str(&project.curl(&["-H", "x-key: ada"], &route)?).unwrap();
        run["status"].as_str().map(str::to_owned)
    };
    until("the run is taken up", || status().as_deref() == Some("running"));
    docker(&project.host, &["kill", &project.server()]);
    let up = project.up(&["--wait", "--server", "pg-preview"]);
    assert_eq!((up.code, up.changes("langgraph-migrations")), (0, vec!["unchanged"]), "{up:?}");
    until("the run ends", || status().as_deref() == Some("success"));

    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
}

fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_failed_migration_ends_the_command_with_its_reason() {
    let project = project();
    let nowhere = [
        "--wait",
        "--server",
        "pg-preview",
        "--postgres-uri",
        "postgres://ada:hidden@langgraph-redis:6379/a",
    ];
    let up = project.up(&nowhere);
    assert_eq!(up.code, 1, "{up:?}");
    let failed = up.events.iter().find(|event| event["event"] == "failed").unwrap();
    assert_eq!(failed["service"], "langgraph-migrations");
    assert!(failed["last_lines"].to_string().contains("cannot migrate the database: "), "{failed}");
    assert!(!format!("{up:?}").contains("hidden"), "{up:?}");
}
