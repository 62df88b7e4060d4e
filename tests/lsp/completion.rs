//! Completion.

use serde_json::Value;

use super::client::Client;
use crate::harness::TestEnv;

/// A proposal: its label, and the line after it is accepted.
type Accepted = (String, String);

/// A project with some files.
fn project() -> TestEnv {
    TestEnv::project()
        .file(
            "agent.py",
            "import os\n\ndef make(config): ...\n\nclass State: ...\n\ngraph = make({})\n_x = 1\n",
        )
        .file("web/app.ts", "export const app = 1;\n")
        .file("web/page.tsx", "export default 1;\n")
        .file("lib/pyproject.toml", "[project]\nname = 'lib'\nversion = '1'\n")
        .file("node_modules/x/index.js", "")
        .file(".env", "A=1\n")
}

/// The proposals at the `|` of a text in one line.
fn complete(marked: &str) -> Vec<Accepted> {
    let text = marked.replace('|', "");
    let column = u32::try_from(marked.find('|').unwrap()).unwrap();
    let mut client = Client::editing(project(), &text);
    let items = client.ask("textDocument/completion", 0, column);
    let accepted = |item: &Value| {
        let edit = &item["textEdit"];
        let end = |name: &str| edit["range"][name]["character"].as_u64().unwrap() as usize;
        let line =
            format!("{}{}{}", &text[..end("start")], edit["newText"].as_str().unwrap(), &text[end("end")..]);
        (item["label"].as_str().unwrap().to_owned(), line)
    };
    items.as_array().unwrap().iter().map(accepted).collect()
}

fn labels(marked: &str) -> Vec<String> {
    complete(marked).into_iter().map(|(label, _)| label).collect()
}

/// The line after the proposal `label` is accepted.
fn accept(marked: &str, label: &str) -> String {
    let found = complete(marked);
    let accepted = found.iter().find(|(it, _)| it == label);
    accepted.unwrap_or_else(|| panic!("{marked}: no `{label}` in {found:?}")).1.clone()
}

#[test]
fn keys_that_are_not_there_yet() {
    let found = labels(r#"{"graphs": {}, "|"}"#);
    assert!(found.contains(&"dependencies".to_owned()) && !found.contains(&"graphs".to_owned()), "{found:?}");
    assert_eq!(accept(r#"{"dep|"}"#, "dependencies"), r#"{"dependencies": }"#);
    assert_eq!(accept("{dep|}", "dependencies"), r#"{"dependencies": }"#);
    assert_eq!(accept(r#"{"gra|phs": {}}"#, "graphs"), r#"{"graphs": {}}"#);
    assert_eq!(accept(r#"{"http": {"cors": {"max|}}}"#, "max_age"), r#"{"http": {"cors": {"max_age": }}}"#);
    assert_eq!(labels(r#"{"graphs": {"a": {|}}}"#), ["path", "description"]);
    assert!(labels(r#"{"graphs": {"|"}}"#).is_empty());
}

#[test]
fn values_that_the_schema_lists() {
    assert_eq!(labels(r#"{"pip_installer": |}"#), ["auto", "pip", "uv"]);
    assert_eq!(accept(r#"{"pip_installer": "p|"}"#, "pip"), r#"{"pip_installer": "pip"}"#);
    assert_eq!(accept(r#"{"pip_installer": |}"#, "uv"), r#"{"pip_installer": "uv"}"#);
    assert_eq!(labels(r#"{"keep_pkg_tools": ["pip", |]}"#), ["pip", "setuptools", "wheel"]);
    assert_eq!(labels(r#"{"http": {"disable_mcp": |}}"#), ["true", "false"]);
    assert_eq!(accept(r#"{"http": {"disable_mcp": f|}}"#, "false"), r#"{"http": {"disable_mcp": false}}"#);
    assert!(labels(r#"{"python_version": "|"}"#).contains(&"3.13".to_owned()));
}

#[test]
fn paths_of_the_project() {
    assert_eq!(labels(r#"{"graphs": {"a": "|"}}"#), ["agent.py", "lib/", "web/"]);
    assert_eq!(accept(r#"{"graphs": {"a": "./ag|"}}"#, "agent.py"), r#"{"graphs": {"a": "./agent.py:"}}"#);
    assert_eq!(accept(r#"{"graphs": {"a": "./web/|"}}"#, "app.ts"), r#"{"graphs": {"a": "./web/app.ts:"}}"#);
    assert_eq!(accept(r#"{"ui": {"a": "./web/|}}"#, "page.tsx"), r#"{"ui": {"a": "./web/page.tsx}}"#);
    assert_eq!(labels(r#"{"dependencies": ["|"]}"#), [".", "lib", "web"]);
    assert_eq!(accept(r#"{"dependencies": [".", "./l|"]}"#, "lib"), r#"{"dependencies": [".", "./lib"]}"#);
    assert_eq!(accept(r#"{"env": "|"}"#, ".env"), r#"{"env": "./.env"}"#);
}

#[test]
fn names_in_the_file_that_is_named() {
    let found = labels(r#"{"graphs": {"a": "./agent.py:|"}}"#);
    assert_eq!(found, ["os", "make", "State", "graph"]);
    assert_eq!(
        accept(r#"{"graphs": {"a": "./agent.py:gr|"}}"#, "graph"),
        r#"{"graphs": {"a": "./agent.py:graph"}}"#
    );
    assert_eq!(
        accept(r#"{"graphs": {"a": {"path": "./web/app.ts:|"}}}"#, "app"),
        r#"{"graphs": {"a": {"path": "./web/app.ts:app"}}}"#
    );
    assert!(labels(r#"{"graphs": {"a": "./none.py:|"}}"#).is_empty());
}
