//! The standby: it serves the next edit, and whatever happens to it, the last edit is served.

use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::json;

use super::javascript::{self, GRAPH as TYPESCRIPT};
use super::{Dev, PATIENCE, Project, processes, signal_process};

const GRAPH: &str = "src/hello/graph.py";

/// The processes that are, or were, a standby.
fn standbys(project: &Project) -> Vec<u32> {
    let all = processes(project.directory.path());
    let all = all.iter().filter(|process| process.replace(' ', "").contains(r#""waits":true"#));
    // Its guard has the same arguments.
    let all = all.filter(|process| !process.contains(" guard --grace "));
    all.filter_map(|process| process.split(' ').next()?.parse().ok()).collect()
}

/// Waits for a standby that is none of `others`.
pub(super) fn next_standby(project: &Project, others: &[u32]) -> u32 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(id) = standbys(project).into_iter().find(|id| !others.contains(id)) {
            return id;
        }
        assert!(Instant::now() < deadline, "there is no standby");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a standby has begun again without this package.
fn until_without(project: &Project, standby: u32, package: &str) {
    let deadline = Instant::now() + PATIENCE;
    let start = format!("{standby} ");
    while !processes(project.directory.path()).iter().any(|it| it.starts_with(&start) && it.contains(package))
    {
        assert!(Instant::now() < deadline, "the standby does not leave out {package}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Edits the greeting, and waits until the server is ready again.
fn edit(project: &Project, dev: &mut Dev, old: &str, new: &str) {
    project.edit(GRAPH, old, new);
    dev.until("reloading");
    dev.until("ready");
}

fn greeting(dev: &Dev) -> String {
    dev.run(json!({}))["greeting"].as_str().unwrap().to_owned()
}

#[test]
fn a_standby_serves_edits_and_nothing_that_happens_to_it_loses_one() {
    let project = Project::of("hello");
    project.edit("agent.json", "\"dependencies\"", "\"env\": \"settings.env\", \"dependencies\"");
    project.write("settings.env", "NAME=a\n");
    project.edit(GRAPH, "\"\"\"Greets whoever is named.\"\"\"", "import os");
    project.edit(GRAPH, "Hello,", "{os.environ['NAME']} Zero,");
    let mut dev = project.ready(&[]);
    let thread = dev.call("POST", "/threads", json!({}))["thread_id"].as_str().unwrap().to_owned();

    let first = next_standby(&project, &[]);
    edit(&project, &mut dev, "Zero", "One");
    assert_eq!(greeting(&dev), "a One, world!");
    assert_eq!(dev.call("GET", &format!("/threads/{thread}"), json!(null))["thread_id"], thread);
    let second = next_standby(&project, &[first]);
    assert!(standbys(&project).contains(&first), "the standby is the server now");

    // A standby that was killed.
    signal_process(second, "KILL");
    edit(&project, &mut dev, "One", "Two");
    assert_eq!(greeting(&dev), "a Two, world!");

    // Variables that the standby does not have.
    let third = next_standby(&project, &[first, second]);
    project.write("settings.env", "NAME=b\n");
    dev.until("reloading");
    dev.until("ready");
    assert_eq!(greeting(&dev), "b Two, world!");
    let fourth = next_standby(&project, &[first, second, third]);
    assert!(!standbys(&project).contains(&third), "it was stopped");

    // A mistake, and its repair.
    project.edit(GRAPH, "def greet(", "def greet((");
    dev.until("kept");
    edit(&project, &mut dev, "def greet((", "def greet(");
    assert_eq!(greeting(&dev), "b Two, world!");

    // An edit while the standby becomes the server.
    let fifth = next_standby(&project, &[first, second, third, fourth]);
    project.edit(GRAPH, "Two", "Three");
    dev.until("starting");
    edit(&project, &mut dev, "Three", "Four");
    assert_eq!(greeting(&dev), "b Four, world!");

    next_standby(&project, &[first, second, third, fourth, fifth]);
    assert_eq!(dev.stop("INT").code(), Some(0));
    assert_eq!(project.processes(), [""; 0]);
}

#[test]
fn a_standby_reads_no_file_of_the_project() {
    let project = Project::of("hello");
    project.add_server();
    let library = fs::read_dir(project.path(".agentcli/python/lib")).unwrap().next().unwrap().unwrap().path();
    // A package that reads the project as it is imported, and code of the user that the server imports before the graphs.
    let reads = "import os\n\nprint('read by', os.getpid(), flush=True)\nTEXT = open('notes.txt').read()\n";
    fs::write(library.join("site-packages/agentcli_test_notes.py"), reads).unwrap();
    let app = "from starlette.applications import Starlette\nfrom starlette.responses import PlainTextResponse\n\
               from starlette.routing import Route\n\n\n\
               async def version(request):\n    return PlainTextResponse('one')\n\n\n\
               app = Starlette(routes=[Route('/version', version)])\n";
    project.write("src/hello/app.py", app).write("notes.txt", "first");
    let http = "\"http\": { \"app\": \"./src/hello/app.py:app\" }, \"dependencies\"";
    project.edit("agent.json", "\"dependencies\"", http);
    project.edit(GRAPH, "from typing", "import agentcli_test_notes\nfrom typing");
    project.edit(GRAPH, "Hello", "{agentcli_test_notes.TEXT}");
    let mut dev = project.ready(&[]);
    let version = |dev: &Dev| dev.call("GET", "/version", json!(null)).as_str().unwrap().to_owned();
    assert_eq!((greeting(&dev).as_str(), version(&dev).as_str()), ("first, world!", "200 one"));

    let standby = next_standby(&project, &[]);
    until_without(&project, standby, "agentcli_test_notes");
    project.write("notes.txt", "second").edit("src/hello/app.py", "'one'", "'two'");
    dev.until("reloading");
    dev.until("ready");
    assert_eq!((greeting(&dev).as_str(), version(&dev).as_str()), ("second, world!", "200 two"));
    dev.hear(&format!("read by {standby}"));
    dev.stop("INT");
}

/// The process that answers, and what the package has read.
fn server_and_notes(dev: &Dev) -> (u32, String) {
    let greeting = dev.run(json!({ "name": "" }))["greeting"].as_str().unwrap().to_owned();
    let (process, notes) = greeting.split_once(' ').unwrap();
    (process.parse().unwrap(), notes.to_owned())
}

#[test]
fn a_javascript_standby_serves_edits_and_reads_no_file_of_the_project() {
    let project = javascript::project();
    let package = "node_modules/agentcli-test-notes";
    let manifest = r#"{ "name": "agentcli-test-notes", "type": "module", "exports": "./index.js" }"#;
    let reads = "import { readFileSync } from 'node:fs';\n\
                 Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);\n\
                 export const text = readFileSync('notes.txt', 'utf8');\n";
    project.write(&format!("{package}/package.json"), manifest).write(&format!("{package}/index.js"), reads);
    project.write("notes.txt", "first").write("tsconfig.json", "{}\n");
    project.edit(TYPESCRIPT, "import {", "import { text } from 'agentcli-test-notes';\nimport {");
    project.edit(TYPESCRIPT, "Hello, ${state.name}!", "${process.pid} ${text} Zero");
    let mut dev = project.ready(&[]);
    let edit = |dev: &mut Dev, old: &str, new: &str| {
        project.edit(TYPESCRIPT, old, new);
        dev.until("reloading");
        dev.until("ready");
        server_and_notes(dev)
    };
    assert_eq!(server_and_notes(&dev).1, "first Zero");

    // The first standby is told to serve before it finds out which package reads the project, and ends.
    assert_eq!(edit(&mut dev, "Zero", "Half").1, "first Half");
    let deadline = Instant::now() + PATIENCE;
    let record = project.path(".agentcli/imported-javascript.json");
    while !fs::read_to_string(&record).is_ok_and(|text| text.contains("notes\"]")) {
        assert!(Instant::now() < deadline, "no package is left out: {:?}", fs::read_to_string(&record));
        thread::sleep(Duration::from_millis(20));
    }
    let first = next_standby(&project, &[]);
    project.write("notes.txt", "second");
    assert_eq!(edit(&mut dev, "Half", "One"), (first, "second One".to_owned()));
    let second = next_standby(&project, &[first]);
    project.write("notes.txt", "third");
    assert_eq!(edit(&mut dev, "One", "Two"), (second, "third Two".to_owned()));

    // What the loader has read is different now.
    let third = next_standby(&project, &[first, second]);
    project.write("tsconfig.json", "{ \"compilerOptions\": { \"strict\": true } }\n");
    let (server, notes) = edit(&mut dev, "Two", "Three");
    assert!(server != third && notes == "third Three", "{server} {notes}");

    // A standby that was killed, an edit while one becomes the server, and two in a row.
    let fourth = next_standby(&project, &[first, second, third]);
    signal_process(fourth, "KILL");
    assert_eq!(edit(&mut dev, "Three", "Four").1, "third Four");
    let fifth = next_standby(&project, &[first, second, third, fourth]);
    project.edit(TYPESCRIPT, "Four", "Five");
    dev.until("starting");
    assert_eq!(edit(&mut dev, "Five", "Six").1, "third Six");
    next_standby(&project, &[first, second, third, fourth, fifth]);
    assert_eq!(dev.stop("INT").code(), Some(0));
    assert_eq!(project.processes(), [""; 0]);

    let mut dev = project.ready(&["--no-standby"]);
    assert_eq!(edit(&mut dev, "Six", "Seven").1, "third Seven");
    assert_eq!(standbys(&project), [0; 0]);
    dev.stop("INT");
}

#[test]
fn without_a_standby_edits_are_served_too() {
    let project = Project::of("hello");
    let mut dev = project.ready(&["--no-standby"]);
    edit(&project, &mut dev, "Hello", "Bonjour");
    assert_eq!(greeting(&dev), "Bonjour, world!");
    assert_eq!(standbys(&project), [0; 0]);
    dev.stop("INT");
}
