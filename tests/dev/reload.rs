//! What a change does to a running server, and what does nothing.

use std::time::Duration;

use serde_json::json;

use super::handover::Client;
use super::{Dev, Project};

const GRAPH: &str = "src/hello/graph.py";

/// Long enough for a change that counts to be seen.
const A_WHILE: Duration = Duration::from_millis(1500);

fn greeting(dev: &Dev) -> String {
    dev.run(json!({}))["greeting"].as_str().unwrap().to_owned()
}

fn is_quiet(dev: &mut Dev) -> bool {
    dev.within(A_WHILE).iter().all(|event| event["event"] == "log" || event["event"] == "run")
}

#[test]
fn an_edit_goes_live_and_a_mistake_is_told_and_mended() {
    let project = Project::of("hello");
    let mut dev = project.ready(&[]);
    // A burst of saves, as an editor or a formatter makes them.
    for greeting in ["One", "Two", "Bonjour"] {
        let text = project.read(GRAPH);
        let old = text.split("f\"").nth(1).unwrap().split(',').next().unwrap().to_owned();
        project.edit(GRAPH, &format!("f\"{old},"), &format!("f\"{greeting},"));
    }
    assert_eq!(dev.until("reloading")["changed"], json!([GRAPH]));
    dev.until("ready");
    assert_eq!(greeting(&dev), "Bonjour, world!");
    assert!(is_quiet(&mut dev), "one burst is one reload");

    dev.stop("INT");
}

/// One that the checks find, and those that only loading finds.
#[test]
fn a_mistake_leaves_the_running_server() {
    let project = Project::of("hello");
    let mut dev = project.ready(&["--host", "localhost"]);
    let before = dev.seen.len();
    let client = Client::start(&dev);
    project.edit(GRAPH, "def greet(", "def greet((");
    assert_eq!(dev.until("kept")["reason"], "the project has errors");
    dev.hear("src/hello/graph.py:15");
    for (line, reason) in [
        ("__import__('os').environ['SHOP_KEY']", "KeyError: 'SHOP_KEY'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ] {
        let broken = project.read(GRAPH).replace("def greet((", "def greet(") + line + "\n";
        project.write(GRAPH, &broken);
        let kept = dev.until("kept");
        let place = format!("{GRAPH}:{}", broken.lines().count());
        assert_eq!(kept["reason"], format!("{place}: {reason}"), "{kept:#}");
        assert!(kept["last_lines"].as_array().unwrap().len() < 5, "{kept:#}");
        let hint = reason.starts_with("KeyError").then_some("add SHOP_KEY to .env");
        assert_eq!(kept["hint"].as_str(), hint, "{kept:#}");
        assert_eq!(greeting(&dev), "Hello, world!");
        project.write(GRAPH, broken.replace(&format!("{line}\n"), "").replace("def greet(", "def greet(("));
        assert_eq!(dev.until("kept")["reason"], "the project has errors");
    }
    project.edit(GRAPH, "def greet((", "def greet(");
    dev.until("ready");
    client.assert_nothing_lost(&dev);
    assert!(dev.seen[before..].iter().all(|event| event["event"] != "provisioning"), "{:#?}", dev.seen);
    dev.stop("INT");
}

#[test]
fn only_what_matters_reloads() {
    let project = Project::of("hello");
    project.write(".gitignore", "/generated\n").write(".dockerignore", "scratch\n");
    project.write("generated/a.py", "").write("scratch/a.py", "");
    let mut dev = project.ready(&[]);
    for unimportant in [
        "data.json",
        "notes/today.txt",
        ".git/HEAD",
        ".venv/lib/x.py",
        "node_modules/x/index.js",
        "src/hello/__pycache__/graph.py",
        "generated/a.py",
        "scratch/b.py",
        ".langgraph_api/x.py",
        ".agentcli/x.py",
    ] {
        project.write(unimportant, "x = 1\n");
    }
    // A run of its own makes the server write state and bytecode.
    greeting(&dev);
    assert!(is_quiet(&mut dev), "{:#?}", dev.seen);
    project.write("src/new/deep/module.py", "x = 1\n");
    assert_eq!(dev.until("reloading")["changed"], json!(["src/new/deep/module.py"]));
    dev.until("ready");
    project.write("src/new/deep/module.py", "x = 2\n");
    dev.until("reloading");
    dev.until("ready");
    dev.stop("INT");
}

#[test]
fn the_configuration_its_env_file_and_manifests_are_taken_over() {
    let project = Project::of("hello");
    project.edit("agent.json", "\"dependencies\"", "\"env\": \"settings.env\", \"dependencies\"");
    project.write("settings.env", "GREETING='first'\n");
    project.edit(GRAPH, "\"\"\"Greets whoever is named.\"\"\"", "import os");
    project.edit(GRAPH, "Hello", "{os.environ['GREETING']}");
    let mut dev = project.ready(&[]);
    assert_eq!(greeting(&dev), "first, world!");

    project.write("settings.env", "GREETING=second\n");
    dev.until("ready");
    assert_eq!(greeting(&dev), "second, world!");

    project.edit("agent.json", "\"agent\"", "\"agnt\": 5, \"agent\"");
    dev.until("kept");
    dev.hear("agent.json:");
    assert_eq!(greeting(&dev), "second, world!", "the server goes on");
    project.edit("agent.json", "\"agnt\": 5, ", "");
    dev.until("ready");

    project.edit("pyproject.toml", "dependencies = [", "dependencies = [\"iniconfig==2.1.0\", ");
    let installing = dev.until("provisioning");
    assert_eq!(installing["done"], false);
    dev.until("ready");
    let provisioned: Vec<String> =
        dev.seen.iter().filter_map(|it| Some(it["message"].as_str()?.to_owned())).collect();
    assert!(provisioned.iter().any(|line| line.contains("+ iniconfig==2.1.0")), "{provisioned:#?}");
    dev.stop("INT");
}

#[test]
fn without_reload_nothing_is_watched() {
    let project = Project::of("hello");
    let mut dev = project.ready(&["--no-reload"]);
    project.edit(GRAPH, "Hello", "Bonjour");
    assert!(is_quiet(&mut dev), "{:#?}", dev.seen);
    assert_eq!(greeting(&dev), "Hello, world!");
    dev.stop("INT");
}

#[test]
fn what_is_not_taken_over_changes_nothing() {
    let project = Project::of("hello");
    project.edit(GRAPH, "\"\"\"Greets whoever is named.\"\"\"", "import os");
    project.edit(GRAPH, "Hello", "{os.environ.get('GREETING', 'none')}");
    let mut dev = project.ready(&[]);
    let good = project.read("agent.json");
    let env = "\"env\": { \"GREETING\": \"new\" }, \"dependencies\": [\"agentcli-no-such-package==1\", ";
    project.edit("agent.json", "\"dependencies\": [", env);
    assert!(dev.until("kept")["reason"].as_str().unwrap().starts_with("installing failed"));
    // The old configuration is what later starts go by, too.
    project.write("src/hello/other.py", "");
    dev.until("ready");
    assert_eq!(greeting(&dev), "none, world!");
    // A change while packages are installed is not forgotten.
    project.write("agent.json", good.replace("\"dependencies\": [", "\"dependencies\": [\"iniconfig\", "));
    dev.until("provisioning");
    project.write(
        "agent.json",
        good.replace("\"dependencies\"", "\"env\": { \"GREETING\": \"last\" }, \"dependencies\""),
    );
    dev.until("reloading");
    dev.until("reloading");
    dev.until("ready");
    assert_eq!(greeting(&dev), "last, world!");
    dev.stop("INT");
}
