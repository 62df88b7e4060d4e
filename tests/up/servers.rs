//! Servers that agentcli installs itself, which need no key.

use serde_json::{Value, json};

use super::Project;
use crate::engine::docker;

const AGENT: &str = r#"
import os
from typing_extensions import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    number: int
    user: str


def add(state):
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

fn project() -> Project {
    let project = Project::new();
    // Variables that would make another server of it, or open its routes for tests.
    let env = json!({ "MIGRATIONS_PATH": "__inmem", "DATABASE_URI": "postgres://nowhere/db", "REDIS_URI": "redis://nowhere" });
    let config = json!({
        "dependencies": ["."],
        "graphs": { "agent": "./agent.py:graph" },
        "auth": { "path": "./auth.py:auth" },
        "env": env,
    });
    project.write("agent.json", &config.to_string());
    project.write("agent.py", AGENT);
    project.write("auth.py", AUTH);
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
        let output = std::process::Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", "60", "-d", "{}"])
            .args(["-H", "content-type: application/json"])
            .args(headers)
            .arg(url)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
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
    let id = docker(
        &project.host,
        &["ps", "-q", "--filter", &format!("label=com.docker.compose.project={}", project.name)],
    );
    let image = docker(&project.host, &["inspect", "-f", "{{.Config.User}} {{.Config.Cmd}}", id.trim()]);
    assert_eq!(image.trim(), "10001:10001 [/api/start]");
    project.down(&["--volumes"]);
    assert_eq!(project.left(), Vec::<String>::new());
}
