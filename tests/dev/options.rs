//! What the options and the configuration hand over to the server.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::guard::ask;
use super::{Dev, Project, call};
use crate::harness::{TestEnv, free_port, until};

/// A graph that answers variables of its environment.
const ENVIRONMENT: &str = r#"import os
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    names: list[str]
    values: dict[str, Any]


def read(state: State) -> State:
    return {"values": {name: os.environ.get(name) for name in state["names"]}}


graph = StateGraph(State).add_node("read", read).add_edge(START, "read").add_edge("read", END).compile()
"#;

fn variables(dev: &Dev, names: &[&str]) -> Value {
    dev.run(json!({ "names": names }))["values"].clone()
}

#[test]
fn the_contract_and_the_users_variables_reach_the_server() {
    let config = r#"{
        "dependencies": ["."],
        "graphs": { "agent": { "path": "./src/hello/graph.py:graph", "description": "It's $HOME" } },
        "env": ".env",
        "http": {
            "mount_prefix": "/here",
            "cors": { "allow_origins": ["https://app.example"], "allow_origin_regex": "https://[a-z]+[.]apps[.]example" }
        },
        "store": { "ttl": { "default_ttl": 5 } },
        "webhooks": { "headers": { "x-key": "${{ env.AGENT_WEBHOOK_KEY }}" } }
    }"#;
    let project = Project::of("hello");
    project.write("agent.json", config).write("src/hello/graph.py", ENVIRONMENT);
    project.write(
        ".env",
        "A=\"it's $B\"\nB=${OUTSIDE:-x}\nN_JOBS_PER_WORKER=99\nLANGGRAPH_AUTH=evil\nAGENT_WEBHOOK_KEY=k\n",
    );
    let project = project.variable("OUTSIDE", "outside").variable("LANGGRAPH_CHECKPOINTER", "{\"x\": 1}");
    let dev = project.ready(&["--allow-blocking", "--studio-url", "https://studio.example/"]);
    assert!(dev.url().ends_with("/here"), "{}", dev.url());
    let names = [
        "A",
        "B",
        "N_JOBS_PER_WORKER",
        "LANGGRAPH_ALLOW_BLOCKING",
        "LANGGRAPH_AUTH",
        "LANGGRAPH_CHECKPOINTER",
        "LANGGRAPH_NO_VERSION_CHECK",
        "LANGSMITH_CONTROL_PLANE_API_KEY",
        "LANGGRAPH_API_URL",
    ];
    let wanted = json!({
        "A": "it's $B", "B": "outside", "N_JOBS_PER_WORKER": "10", "LANGGRAPH_ALLOW_BLOCKING": "true",
        "LANGGRAPH_AUTH": null, "LANGGRAPH_CHECKPOINTER": null, "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_CONTROL_PLANE_API_KEY": "", "LANGGRAPH_API_URL": dev.url(),
    });
    assert_eq!(variables(&dev, &names), wanted);
    let contract = variables(&dev, &["LANGSERVE_GRAPHS", "LANGGRAPH_STORE", "LANGGRAPH_WEBHOOKS"]);
    let parsed = |name: &str| serde_json::from_str::<Value>(contract[name].as_str().unwrap()).unwrap();
    assert_eq!(parsed("LANGSERVE_GRAPHS")["agent"]["description"], "It's $HOME");
    assert_eq!(parsed("LANGGRAPH_STORE")["ttl"]["default_ttl"], 5);
    assert_eq!(parsed("LANGGRAPH_WEBHOOKS")["env_prefix"], "AGENT_WEBHOOK_");
    let ready = dev.seen.last().unwrap();
    assert_eq!(ready["studio"], json!(format!("https://studio.example/studio/?baseUrl={}", dev.url())));
    for (origin, status) in [
        ("https://app.example", 200),
        ("https://one.apps.example", 200),
        ("https://studio.example", 200),
        ("https://one.apps.example.evil.example", 403),
        ("https://app.example/", 403),
        ("https://evil.example", 403),
    ] {
        assert_eq!(dev.status("Origin", origin), status, "{origin}");
    }
    dev.stop("INT");
}

#[test]
fn traces_go_to_the_collector() {
    let project = Project::of("hello");
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    collector.set_nonblocking(true).unwrap();
    let address = collector.local_addr().unwrap();
    let dev = project.ready(&["--no-reload", &format!("--otlp=http://{address}")]);
    dev.run(json!({ "name": "Ada" }));
    let mut request = None;
    let arrived = || {
        request = collector.accept().ok();
        request.is_some()
    };
    until(arrived, || "no trace arrived".to_owned());
    let (mut request, _) = request.unwrap();
    request.set_nonblocking(false).unwrap();
    let mut head = [0; 15];
    request.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"POST /v1/traces");
    drop(request);
    dev.stop("INT");
}

/// In a server whose queue looks for runs only once an hour.
#[test]
fn jobs_start_at_once_and_run_side_by_side() {
    let project = Project::of("hello");
    let slow = "import asyncio\n\nwait_for, sleep = asyncio.wait_for, asyncio.sleep\n\
                interval = lambda seconds: 3600 if seconds == 0.5 else seconds\n\
                asyncio.wait_for = lambda future, timeout: wait_for(future, interval(timeout))\n\
                asyncio.sleep = lambda delay, result=None: sleep(interval(delay), result)\n";
    project.edit("src/hello/graph.py", "from typing", &format!("{slow}from typing"));
    project.edit("src/hello/graph.py", "def greet", "async def greet");
    project.edit(
        "src/hello/graph.py",
        "    return {",
        "    import asyncio\n    await asyncio.sleep(4)\n    return {",
    );
    let dev = project.ready(&["--no-reload"]);
    let began = std::time::Instant::now();
    let url = format!("{}/runs/wait", dev.url());
    let run = || call("POST", &url, json!({ "assistant_id": "agent", "input": {} }));
    std::thread::scope(|scope| (0..10).for_each(|_| drop(scope.spawn(run))));
    // One after the other they would take forty seconds.
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    dev.stop("INT");
}

#[test]
fn https_is_served_with_the_users_certificate() {
    let project = Project::of("hello");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(project.directory.path())
        .output()
        .unwrap();
    assert!(made.status.success());
    let dev = project.ready(&["--ssl-certfile", "cert.pem", "--ssl-keyfile", "key.pem"]);
    assert!(dev.url().starts_with("https://127.0.0.1:"), "{}", dev.url());
    assert_eq!(dev.run(json!({}))["greeting"], "Hello, world!");
    refuses_foreign_pages(&dev);
    dev.stop("INT");
    let (code, _, err) = project.fails(&["--ssl-certfile", "none.pem", "--ssl-keyfile", "key.pem"]);
    assert_eq!(code, 2);
    assert!(err.contains("there is no file") && err.contains("none.pem"), "{err}");
}

/// Over HTTPS, too.
pub(super) fn refuses_foreign_pages(dev: &Dev) {
    assert_eq!(dev.status("Origin", "https://evil.example"), 403);
    assert_eq!(dev.status("Host", "evil.example"), 421);
    assert_eq!(dev.status("Origin", "https://localhost:3000"), 200);
    assert_eq!(dev.status("Origin", &dev.url()), 200);
}

#[test]
fn the_default_port_gives_way() {
    // Another program of the machine holds it, or this test does.
    let _held = TcpListener::bind("127.0.0.1:2024");
    let project = Project::of("hello");
    let mut dev = Dev::new(project.command(&["--json", "--no-browser"]).spawn().unwrap());
    let note = dev.until("note");
    assert!(note["message"].as_str().unwrap().starts_with("port 2024 is in use by "), "{note}");
    dev.until("ready");
    assert_ne!(dev.url(), "http://127.0.0.1:2024");
    dev.stop("INT");
}

/// The real tunnel needs the internet and a program that no package registry has. What stands in for it prints the
/// address as that program does, among other lines, and then stays.
#[test]
fn a_tunnel_makes_the_server_public() {
    let project = Project::of("hello");
    let (_, _, err) = project.fails(&["--no-browser", "--tunnel"]);
    assert!(
        err.contains("error: cannot open the tunnel: `cloudflared` is not on the PATH\nhint: install it"),
        "{err}"
    );
    project.write(
        "tools/cloudflared",
        "#!/bin/sh\necho \"$@\" >tunnel.txt\necho 'INF Requesting new quick Tunnel on trycloudflare.com...' >&2\n\
         echo 'INF |  https://some-words.trycloudflare.com                  |' >&2\nsleep 600\n",
    );
    let tool = project.path("tools/cloudflared");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let path = project.command(&[]);
    let path = path.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
    let path = format!("{}:{}", tool.parent().unwrap().display(), path.to_str().unwrap());
    let project = project.variable("PATH", &path);
    let dev = project.ready(&["--tunnel"]);
    let ready = dev.seen.last().unwrap().clone();
    assert_eq!(ready["public"], "https://some-words.trycloudflare.com");
    assert!(
        ready["studio"].as_str().unwrap().ends_with("baseUrl=https://some-words.trycloudflare.com"),
        "{ready}"
    );
    assert_eq!(project.read("tunnel.txt"), format!("tunnel --no-autoupdate --url {}\n", dev.url()));
    for (name, value, status) in [
        ("Host", "some-words.trycloudflare.com", 200),
        ("Origin", "https://some-words.trycloudflare.com", 200),
        ("Host", "other-words.trycloudflare.com", 421),
        ("Origin", "https://other-words.trycloudflare.com", 403),
    ] {
        assert_eq!(dev.status(name, value), status, "{name}: {value}");
    }
    dev.stop("INT");
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn help_names_every_option_with_its_default() {
    let help = TestEnv::empty().run("dev --help").out;
    for option in [
        "--config",
        "--host",
        "--port",
        "--no-reload",
        "--n-jobs-per-worker",
        "--debug-port",
        "--debug-host",
        "--wait-for-client",
        "--no-browser",
        "--studio-url",
        "--allow-blocking",
        "--tunnel",
        "--python",
        "--no-install",
        "--ssl-certfile",
        "--ssl-keyfile",
        "--server-log-level",
        "--json",
        "127.0.0.1",
        "2024",
        "[default: 10]",
    ] {
        assert!(help.contains(option), "{option}\n{help}");
    }
}

#[test]
fn allowed_host_and_excluded_files() {
    let project = Project::of("hello");
    let port = free_port();
    let number = port.to_string();
    let options = ["--allow-host", "host.docker.internal", "--reload-exclude", "notes*"];
    let mut dev = project.ready(&[&["--port", number.as_str()], &options[..]].concat());
    let status = |host: &str| ask(port, "GET", "/ok", &[("Host", host)], "");
    assert_eq!(status(&format!("host.docker.internal:{port}")).status, 200);
    let refused = status("tunnel.example");
    assert_eq!(refused.status, 421);
    assert!(refused.body.contains("--allow-host"), "{}", refused.body);
    project.write("src/hello/notes_1.py", "");
    let events = dev.within(Duration::from_secs(3));
    assert!(events.iter().all(|event| event["event"] != "reloading"), "{events:?}");
    project.write("src/hello/other.py", "");
    assert_eq!(dev.until("reloading")["changed"], serde_json::json!(["src/hello/other.py"]));
    dev.stop("INT");
}

#[test]
fn names_and_patterns_that_cannot_be_meant_are_refused() {
    let project = Project::of("hello");
    for (option, value, reason) in [
        ("--allow-host", "http://a.example", "it is not a host name"),
        ("--allow-host", "10.0.0.1", "IP addresses are always allowed"),
        ("--reload-exclude", "!kept.py", "it may not begin with"),
        ("--reload-exclude", "/", "it is empty"),
    ] {
        let (code, _, err) = project.fails(&[option, value]);
        assert!(code == 2 && err.contains(reason), "{option} {value}: {code} {err}");
    }
}
