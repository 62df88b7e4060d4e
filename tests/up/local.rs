//! `agentcli dev` with databases.

use serde_json::{Value, json};

use super::Project;
use super::servers::{self, AGENT};
use crate::dev::{Dev, path_with_uv, send};
use crate::engine::docker;
use crate::harness::{TestEnv, VALID, free_port, until};

impl Project {
    /// Starts `dev` with the databases of this setup, and waits until it is ready.
    pub(super) fn dev(&self) -> Dev {
        let port = free_port().to_string();
        let mut command = self.command(&["dev", "--json", "--no-browser", "--server", "pg", "--port", &port]);
        let mut dev =
            Dev::new(command.env("PATH", path_with_uv()).env_remove("VIRTUAL_ENV").spawn().unwrap());
        dev.until("ready");
        dev
    }
}

/// Asks as Ada.
fn ask(dev: &Dev, method: &str, route: &str, body: Value) -> Value {
    let (status, text) = send(method, &format!("{}{route}", dev.url()), &[("x-key", "ada")], body);
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_databases_of_up_keep_what_dev_runs() {
    let project = servers::project();
    let up = project.up(&["--wait", "--server", "pg"]);
    assert_eq!(up.code, 0, "{up:?}");
    let dev = project.dev();
    dev.hear("the server of `up` also takes runs from these databases");
    dev.stop("INT");
    docker(&project.host, &["stop", &project.server()]);

    // A run of a killed server ends in the next one.
    let dev = project.dev();
    let thread = ask(&dev, "POST", "/threads", json!({}))["thread_id"].as_str().unwrap().to_owned();
    let run = json!({ "assistant_id": "agent", "input": { "number": 41, "seconds": 3 } });
    let run = ask(&dev, "POST", &format!("/threads/{thread}/runs"), run);
    let run = format!("/threads/{thread}/runs/{}", run["run_id"].as_str().unwrap());
    let status = |dev: &Dev| ask(dev, "GET", &run, Value::Null)["status"].clone();
    until(|| status(&dev) == "running", || dev.talk());
    dev.stop("KILL");
    let mut dev = project.dev();
    assert!(!dev.talk().contains("also takes runs"), "{}", dev.talk());
    until(|| status(&dev) == "success", || dev.talk());
    let state = ask(&dev, "GET", &format!("/threads/{thread}/state"), Value::Null);
    assert_eq!(state["values"]["number"], 42);

    // Edits are served, the second one by a standby. The server that is replaced ends open requests, so none is made before.
    let input = json!({ "assistant_id": "agent", "input": { "number": 1 } });
    for more in [2, 3] {
        project.write("agent.py", &AGENT.replace(") + 1", &format!(") + {more}")));
        dev.until("ready");
        assert_eq!(ask(&dev, "POST", "/runs/wait", input.clone())["number"], 1 + more);
    }
    let state = ask(&dev, "GET", &format!("/threads/{thread}/state"), Value::Null);
    assert_eq!(state["values"]["number"], 42);
}

#[test]
fn dev_refuses_servers_and_databases_that_it_cannot_use() {
    let env = || TestEnv::project().file("agent.json", VALID).variable("DOCKER_HOST", "unix:///nowhere.sock");
    let licensed = env().run("dev --server licensed");
    assert!(licensed.code == 2 && licensed.err.contains("use `agentcli up`"), "{}", licensed.err);
    let databases = "--postgres-uri mysql://ada:hidden@db/a --redis-uri redis://db";
    let cases = [
        ("", "cannot connect"),
        ("--postgres-uri postgres://ada:hidden@db/a", "one of two databases is given"),
        (databases, "--postgres-uri is not the address of a PostgreSQL database"),
    ];
    for (arguments, expected) in cases {
        let refused = env().run(&format!("dev --server pg {arguments}"));
        assert!(refused.code != 0 && refused.err.contains(expected), "{arguments}: {}", refused.err);
        assert!(!refused.err.contains("hidden"), "{}", refused.err);
    }
    // What the server does not support.
    let config = json!({ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "store": { "index": { "dims": 3, "embed": "openai:x" } } });
    let refused = env().file("agent.json", config.to_string()).run("dev --server pg");
    assert!(refused.err.contains("unsupported-by-server"), "{}", refused.err);
}
