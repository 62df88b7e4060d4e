//! Code actions.

use serde_json::{Value, json};

use super::client::Client;
use crate::harness::{TestEnv, VALID};

/// The actions for a part of the third line, each with its title and the text that it makes.
fn actions(text: &str, columns: (u32, u32), only: &Value) -> Vec<(Value, String)> {
    let mut client = Client::editing(TestEnv::project(), text);
    let at = |character| json!({"line": 2, "character": character});
    let uri = client.uri("agent.json");
    let params = json!({
        "textDocument": {"uri": uri},
        "range": {"start": at(columns.0), "end": at(columns.1)},
        "context": {"diagnostics": [], "only": only},
    });
    let found = client.request("textDocument/codeAction", params);
    let made = |action: &Value| {
        let edits = action["edit"]["changes"][&uri].as_array().unwrap();
        (action.clone(), applied(text, edits))
    };
    found.as_array().unwrap().iter().map(made).collect()
}

/// The text after edits within lines of ASCII characters.
fn applied(text: &str, edits: &[Value]) -> String {
    let offset = |position: &Value| {
        let line = position["line"].as_u64().unwrap() as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        start + position["character"].as_u64().unwrap() as usize
    };
    let mut edits: Vec<_> = edits
        .iter()
        .map(|it| {
            (offset(&it["range"]["start"])..offset(&it["range"]["end"]), it["newText"].as_str().unwrap())
        })
        .collect();
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut text = text.to_owned();
    edits.into_iter().for_each(|(span, new)| text.replace_range(span, new));
    text
}

#[test]
fn a_likely_fix_is_offered_and_not_preferred() {
    let found = actions(&VALID.replace(":graph", ":grahp"), (37, 37), &Value::Null);
    assert_eq!(found.len(), 1);
    let (action, text) = &found[0];
    assert_eq!(text, VALID);
    assert_eq!((&action["title"], &action["kind"]), (&json!("Replace with `graph`"), &json!("quickfix")));
    assert_eq!(action["isPreferred"], false);
    assert_eq!(action["diagnostics"][0]["code"], "undefined-name");
}

#[test]
fn all_safe_fixes_are_made_at_once() {
    let text = VALID.replace("[\".\"]", "[\".\",]").replace(" }", ", }");
    let found = actions(&text, (0, 0), &json!(["source.fixAll"]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0["kind"], "source.fixAll.agentcli");
    assert_eq!(found[0].1, VALID);
    let found = actions(&text, (40, 44), &json!(["quickfix"]));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].0["title"], &found[0].0["isPreferred"]),
        (&json!("Fix: trailing comma"), &json!(true))
    );
    assert_eq!(found[0].1, text.replace(", }", " }"));
}

#[test]
fn additions_are_offered() {
    let graphs = r#""graphs": { "agent": "./agent.py:graph" }"#;
    let cors = r#"{ "allow_origins": ["https://app.example.com"]"#;
    for (before, line, column, title, after) in [
        (
            r#""dependencies": ["langgraph"]"#,
            graphs.to_owned(),
            30,
            "Add `\".\"`",
            format!("{{\n  \"dependencies\": [\"langgraph\", \".\"],\n  {graphs}\n}}\n"),
        ),
        (
            graphs,
            r#""dependencies": []"#.to_owned(),
            19,
            "Add `\".\"`",
            format!("{{\n  {graphs},\n  \"dependencies\": [\".\"]\n}}\n"),
        ),
        (
            &format!("\"dependencies\": [\".\"], {graphs}"),
            format!("\"http\": {{ \"cors\": {cors} }} }}"),
            14,
            "Add `\"allow_methods\": [\"*\"]`",
            format!(
                "{{\n  \"dependencies\": [\".\"], {graphs},\n  \"http\": {{ \"cors\": {cors}, \"allow_methods\": [\"*\"] }} }}\n}}\n"
            ),
        ),
    ] {
        let found = actions(&format!("{{\n  {before},\n  {line}\n}}\n"), (column, column), &Value::Null);
        assert_eq!(found.len(), 1, "{before}");
        let (action, text) = &found[0];
        assert_eq!((&action["title"], &action["isPreferred"]), (&json!(title), &json!(false)));
        assert_eq!(text, &after);
    }
}

#[test]
fn nothing_is_offered_elsewhere() {
    let text = VALID.replace(":graph", ":grahp");
    assert!(actions(&text, (0, 5), &Value::Null).is_empty());
    assert!(actions(&text, (37, 37), &json!(["refactor"])).is_empty());
    assert!(actions(VALID, (0, 40), &Value::Null).is_empty());
}
