//! Hover, definitions, links and symbols.

use serde_json::{Value, json};

use super::client::Client;
use crate::harness::TestEnv;

const TEXT: &str = r#"{
  "dependencies": ["."],
  "graphs": { "agent": "./agent.py:graph", "b": "./agent.py:nope" },
  "http": { "cors": { "max_age": 5 } },
  "env": "./.env"
}
"#;

fn client() -> Client {
    let source = "import os\n\n\ndef make(): ...\n\n\nif True:\n    graph = make()\n";
    let project = TestEnv::project().file("agent.py", source).file(".env", "A=hunter\n");
    Client::editing(project, TEXT)
}

fn span(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

#[test]
fn hover_shows_what_explain_prints() {
    let mut client = client();
    let hover = client.ask("textDocument/hover", 3, 24);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.starts_with("**http.cors.max_age**\n\nLifetime of a preflight response"), "{text}");
    assert!(text.contains("\n- Value: `integer`") && text.contains("\n- Default: `600`"), "{text}");
    assert_eq!(hover["range"], span(3, 22, 31));
    let hover = client.ask("textDocument/hover", 2, 3);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(
        text.contains("- Variable: `LANGSERVE_GRAPHS`") && text.contains("```json\n\"graphs\": {"),
        "{text}"
    );
    let hover = client.ask("textDocument/hover", 4, 12);
    assert!(!hover.to_string().contains("hunter"), "{hover}");
}

#[test]
fn hover_explains_a_finding() {
    let mut client = client();
    let hover = client.ask("textDocument/hover", 2, 62);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.starts_with("**undefined-name**: ") && text.contains("\nRight:\n\n```json\n"), "{text}");
    assert!(text.contains("\n---\n\n**graphs.b**\n"), "{text}");
}

#[test]
fn the_definition_of_a_reference_is_its_symbol() {
    let mut client = client();
    let uri = client.uri("agent.py");
    let definition = client.ask("textDocument/definition", 2, 30);
    assert_eq!(definition, json!({"uri": uri, "range": span(7, 4, 9)}));
    // A name that is not there leads to the file.
    let definition = client.ask("textDocument/definition", 2, 62);
    assert_eq!(definition, json!({"uri": uri, "range": span(0, 0, 0)}));
    let definition = client.ask("textDocument/definition", 4, 12);
    assert_eq!(definition["uri"], json!(client.uri(".env")));
    assert_eq!(client.ask("textDocument/definition", 3, 24), Value::Null);
}

#[test]
fn paths_are_links() {
    let mut client = client();
    let links = client.ask_whole("textDocument/documentLink");
    let found: Vec<_> = links.as_array().unwrap().iter().map(|it| (&it["range"], &it["target"])).collect();
    let (agent, env) = (json!(client.uri("agent.py")), json!(client.uri(".env")));
    assert_eq!(found, [(&span(2, 24, 34), &agent), (&span(2, 49, 59), &agent), (&span(4, 10, 16), &env)]);
}

#[test]
fn symbols_are_keys_without_values() {
    let project = TestEnv::project();
    let tree = json!({"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}}});
    let (mut client, _) = Client::open_with(project, tree);
    client.open("agent.json", &TEXT.replace("\"./.env\"", "{\"A\": \"hunter\", \"\": 1}"));
    let symbols = client.ask_whole("textDocument/documentSymbol");
    let names = |symbols: &Value| -> Vec<String> {
        let names =
            symbols.as_array().into_iter().flatten().map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    assert_eq!(names(&symbols), ["dependencies", "graphs", "http", "env"]);
    assert_eq!(names(&symbols[1]["children"]), ["agent", "b"]);
    assert_eq!(names(&symbols[3]["children"]), ["A", "\"\""]);
    assert_eq!(symbols[2]["selectionRange"], span(3, 2, 8));
    assert_eq!(symbols[2]["range"], span(3, 2, 38));
    assert!(!symbols.to_string().contains("hunter"));
}

#[test]
fn a_file_that_is_not_open_has_no_answers() {
    let (mut client, _) = Client::open_with(TestEnv::project(), json!({}));
    for method in ["textDocument/hover", "textDocument/completion", "textDocument/definition"] {
        assert_eq!(client.ask(method, 0, 0), Value::Null);
    }
    client.open("agent.json", "");
    for method in ["textDocument/hover", "textDocument/completion", "textDocument/definition"] {
        client.ask(method, 9, 9);
    }
    assert_eq!(client.ask_whole("textDocument/documentLink"), json!([]));
}
