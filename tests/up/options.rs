//! What the command line can choose: another database, another image, another base, the debugger.

use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Ended, PATIENCE, Project};
use crate::engine::docker;
use crate::harness::free_port;

const API: &str = "langgraph-api";

/// Something on the engine that is no part of a project; it goes with the test.
struct Own<'a> {
    host: &'a str,
    remove: [&'a str; 3],
    name: String,
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        Command::new("docker").args(["-H", self.host]).args(self.remove).arg(&self.name).output().ok();
    }
}

/// A database in a container that every other container reaches by the engine's own address.
fn database(project: &Project) -> (Own<'_>, String) {
    let name = format!("{}-own-database", project.name);
    let (port, host) = (free_port(), project.host.as_str());
    let publish = format!("{port}:5432");
    let run = ["run", "-d", "--name", &name, "-p", &publish, "-e", "POSTGRES_PASSWORD=own"];
    docker(host, &[&run[..], &["pgvector/pgvector:pg16"]].concat());
    let gateway = ["network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"];
    let gateway = docker(host, &gateway);
    let uri = format!("postgres://postgres:own@{}:{port}/postgres", gateway.trim());
    (Own { host, remove: ["rm", "-f", "-v"], name }, uri)
}

fn image<'a>(project: &'a Project, what: &str) -> Own<'a> {
    Own {
        host: &project.host,
        remove: ["rmi", "-f", "--no-prune"],
        name: format!("{}-{what}:1", project.name),
    }
}

/// The base image of the project and a label.
fn base<'a>(project: &'a Project) -> Own<'a> {
    let image = image(project, "base");
    let mut command = Command::new("docker");
    command.args(["-H", &project.host, "build", "-q", "-t", &image.name, "-"]);
    let mut build =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let dockerfile = b"FROM langchain/langgraph-api:3.11\nLABEL agentcli.test=of-the-base\n";
    build.stdin.take().unwrap().write_all(dockerfile).unwrap();
    assert!(build.wait().unwrap().success());
    image
}

fn of_server(project: &Project, format: &str) -> String {
    let container = format!("{}-{API}-1", project.name);
    docker(&project.host, &["inspect", "-f", format, &container]).trim().to_owned()
}

#[test]
fn a_database_a_base_image_and_a_debugger_and_then_an_image() {
    let project = Project::new();
    let (database, uri) = database(&project);
    let base = base(&project);
    let port = free_port().to_string();
    let server = ["--postgres-uri", &uri, "--debugger-port", &port];
    let page = ["--debugger-base-url", "https://agents.example:1"];
    let up = project.up(&[&["--wait", "--base-image", &base.name], &server[..], &page].concat());
    assert_eq!(up.code, 0, "{up:?}");
    assert!(!format!("{up:?}").contains(":own@"), "{up:?}");
    assert_eq!(of_server(&project, "{{index .Config.Labels \"agentcli.test\"}}"), "of-the-base");

    // Only this machine reaches it.
    let addresses = "{{range .NetworkSettings.Ports}}{{range .}}{{.HostIp}} {{end}}{{end}}";
    assert_eq!(of_server(&project, addresses), "127.0.0.1");

    // There is no database of the setup's, and the rows are in the one that was named.
    assert_eq!(up.changes("langgraph-postgres"), Vec::<&str>::new());
    assert!(!project.left().iter().any(|it| it.contains("postgres") || it.starts_with("volume")), "{up:?}");
    assert_eq!(project.run(json!({ "name": "Ada" }))["rows"], 1);
    let rows = ["exec", &database.name, "psql", "-U", "postgres", "-tAc", "SELECT name FROM visits"];
    assert_eq!(docker(&project.host, &rows), "Ada\n");

    // The debugger's page names what it was told of.
    let ready = up.events.iter().find(|event| event["event"] == "ready").unwrap();
    assert_eq!(ready["debugger"], format!("http://127.0.0.1:{port}"));
    let page = until_served(ready["debugger"].as_str().unwrap());
    assert!(page.contains("The server is at https://agents.example:1"), "{page}");

    // An image that is there runs as it is, and nothing is built; what is not asked for any more goes.
    let own = image(&project, "own");
    let built = format!("{}-{API}", project.name);
    docker(&project.host, &["tag", &built, &own.name]);
    // The engine is reached over the network, at another address than this machine's first.
    let engine = format!("tcp://{}", forward(&project.host, "127.0.0.2"));
    let mut up = project.up_command(&["--wait", "--image", &own.name, "--postgres-uri", &uri]);
    let up = Ended::of(up.env("DOCKER_HOST", engine).output().unwrap());
    assert_eq!(up.code, 0, "{up:?}");
    assert!(up.talk.contains("ports are published on all addresses of 127.0.0.2"), "{}", up.talk);
    assert_ne!(of_server(&project, addresses), "127.0.0.1");
    let ready = up.events.iter().find(|event| event["event"] == "ready").unwrap();
    assert_eq!(ready["api"], format!("http://127.0.0.2:{}", project.port));
    let is_of_build = |name: &str| ["context", "up_to_date"].contains(&name) || name.starts_with("step_");
    assert!(!up.events.iter().any(|event| is_of_build(event["event"].as_str().unwrap())), "{up:?}");
    assert_eq!(up.changes(API), ["recreated", "healthy"]);
    assert_eq!(up.changes("langgraph-debugger"), ["removed"]);
    assert_eq!(of_server(&project, "{{.Config.Image}}"), own.name);
    assert_eq!(project.run(json!({ "name": "Ada" }))["rows"], 2);

    let up = project.up(&["--wait", "--image", &own.name, "--postgres-uri", &uri, "--host", "0.0.0.0"]);
    assert_eq!(up.code, 0, "{up:?}");
    assert!(up.talk.contains("other machines can reach the server at 0.0.0.0"), "{}", up.talk);
    assert_eq!(of_server(&project, addresses), "0.0.0.0");
}

/// The address at which what listens at a socket is reached, on `machine`.
fn forward(socket: &str, machine: &str) -> SocketAddr {
    let socket = PathBuf::from(socket.strip_prefix("unix://").unwrap());
    let listener = TcpListener::bind((machine, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = UnixStream::connect(&socket).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                io::copy(&mut from, &mut to).and_then(|_| to.shutdown(Shutdown::Write)).ok();
            });
            let (mut from, mut to) = (server, client);
            thread::spawn(move || {
                io::copy(&mut from, &mut to).and_then(|_| to.shutdown(Shutdown::Write)).ok();
            });
        }
    });
    address
}

/// What is served there; the debugger has no health that `--wait` could wait for.
fn until_served(url: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = Command::new("curl").args(["-sf", "-m", "60", url]).output().unwrap();
        if output.status.success() {
            return String::from_utf8(output.stdout).unwrap();
        }
        assert!(Instant::now() < deadline, "nothing is served at {url}");
        thread::sleep(Duration::from_millis(100));
    }
}
