//! `agentcli graph`: what it draws, and odd names and sources.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{TestEnv, fixtures, golden, is_long};

/// All formats that are text.
const FORMATS: &[&str] = &["text", "svg", "mermaid", "dot", "json"];

/// A project whose graph `agent` is `graph` in this Python file.
fn project(source: &str) -> TestEnv {
    let config = r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#;
    TestEnv::empty().file("agent.json", config).file("agent.py", source).file("requirements.txt", "")
}

fn json(env: &TestEnv) -> Value {
    let run = env.run("graph --format json");
    assert_eq!(run.code, 0, "{}", run.err);
    let schema = serde_json::from_str(&TestEnv::empty().run("schema graph").out).unwrap();
    let found = serde_json::from_str(&run.out).unwrap();
    jsonschema::validator_for(&schema).unwrap().validate(&found).unwrap();
    found
}

#[test]
fn each_format_matches_its_golden() {
    let folder = fixtures("graph");
    for format in FORMATS {
        let run = TestEnv::inside(&folder).run(&format!("graph --format {format}"));
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        golden(&folder.join(format!("expected.{format}")), &run.out).unwrap();
    }
    assert_eq!(json(&TestEnv::inside(&folder))["complete"], true);
}

#[test]
fn written_file_is_up_to_date_until_the_graph_changes() {
    let source = "from langgraph.graph import START, StateGraph\n\ndef work(state):\n    return {}\n\ngraph = StateGraph(dict).add_node(work).add_edge(START, 'work')\n";
    let env = project(source);
    let missing = env.run("graph -o graph.svg --check");
    assert!(missing.code == 1 && missing.err.contains("`graph.svg` does not exist"), "{}", missing.err);
    assert_eq!(env.run("graph agent -o graph.svg").code, 0);
    assert_eq!(env.run("graph -o graph.svg --check").code, 0);
    let env = env.file("agent.py", source.replace("work", "other"));
    let stale = env.run("graph -o graph.svg --check");
    assert!(stale.code == 1 && stale.err.contains("out of date"), "{}", stale.err);
}

#[test]
fn usage_errors_name_the_next_step() {
    let env = project("graph = object()\n");
    for (arguments, part) in [
        ("graph agnet", "did you mean `agent`?"),
        ("graph", "no graph of agent.json can be read from its source"),
        ("graph -o picture.png", "end it with .svg, .mmd, .dot or .json"),
    ] {
        let run = env.run(arguments);
        assert!(run.code == 2 && run.err.contains(part), "{arguments}: {}", run.err);
    }
}

#[test]
fn odd_names_are_escaped_in_each_format() {
    let names = [
        r#"a\"b'c"#,
        "<script>&amp;</script>",
        "line\\nbreak",
        "\\u202eright\\u2066",
        "\\x1b[31mred",
        "`x`",
        "#quot;",
        "end",
        "日本",
    ];
    let mut source = "from langgraph.graph import START, StateGraph\ngraph = StateGraph(dict)\n".to_owned();
    for name in names {
        source +=
            &format!("graph.add_node(\"{name}\", lambda state: {{}})\ngraph.add_edge(START, \"{name}\")\n");
    }
    let env = project(&source);
    assert_eq!(json(&env)["nodes"].as_array().unwrap().len(), names.len() + 2);
    for format in FORMATS {
        let out = env.run(&format!("graph --format {format}")).out;
        let is_shown = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{2069}').contains(&c));
        assert!(*format == "json" || out.chars().all(is_shown), "{format}: {out}");
        assert!(
            *format == "json" || !out.contains("<script>") || *format == "text" || *format == "dot",
            "{out}"
        );
    }
    roxmltree::Document::parse(&env.run("graph --format svg").out).unwrap();
}

/// Debug builds are slow: the time only shows that none grows with the square of the size.
#[test]
fn large_and_broken_sources_take_bounded_time() {
    let lines: String = (0..5000)
        .map(|at| format!("graph.add_node('n{at}', work)\ngraph.add_edge('n{}', 'n{at}')\n", at / 2))
        .collect();
    let head = "from langgraph.graph import START, StateGraph\ndef work(state):\n    return {}\ngraph = StateGraph(dict)\ngraph.add_edge(START, 'n0')\n";
    let large = format!("{head}{lines}");
    let many = format!("{large}{}", "x = [1, 2, 3]\n".repeat(if is_long() { 500_000 } else { 50_000 }));
    let nested = format!("{head}graph{}", ".add_node(work)".repeat(3000));
    let deep = format!("{head}{}work{}\n", "(".repeat(2000), ")".repeat(2000));
    let recursive = "from agent import graph\ndef graph():\n    return graph()\n";
    let imports = "from agent import *\nfrom agent import graph\n";
    for source in [&*large, &many, &nested, &deep, recursive, imports, "graph = (\n", "\u{feff}graph = 1\0"] {
        let env = project(source);
        for format in FORMATS {
            let start = Instant::now();
            let run = env.run(&format!("graph --format {format}"));
            assert!(run.code <= 2, "{}", run.err);
            assert!(start.elapsed() < Duration::from_secs(60), "{format}: {:?}", start.elapsed());
        }
    }
    let found = json(&project(&large));
    assert_eq!((found["nodes"].as_array().unwrap().len(), &found["complete"]), (5002, &Value::Bool(true)));
}

#[test]
fn computed_parts_make_a_graph_incomplete() {
    let head = "from langgraph.graph import END, START, StateGraph\nfrom elsewhere import names, helper\ndef work(state):\n    return {}\ngraph = StateGraph(dict)\ngraph.add_node(work)\ngraph.add_edge(START, 'work')\n";
    for (rest, is_complete) in [
        ("", true),
        ("for name in names:\n    graph.add_node(name, work)\n", false),
        ("for name in ('a', 'b'):\n    graph.add_node(name, work)\n", true),
        (
            "for name in ('a', 'b'):\n    if name == 'a':\n        continue\n    graph.add_node(name, work)\n",
            false,
        ),
        ("helper(graph)\n", false),
        ("graph.add_conditional_edges('work', helper)\n", false),
        ("graph.add_conditional_edges('work', helper, {'a': 'work', 'b': END})\n", true),
        ("if names:\n    graph.add_edge('work', END)\n", false),
    ] {
        assert_eq!(json(&project(&format!("{head}{rest}")))["complete"], is_complete, "{rest}");
    }
}
