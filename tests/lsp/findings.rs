//! Findings of a text that is being edited.

use std::fs;

use serde_json::{Value, json};

use super::client::Client;
use crate::harness::{TestEnv, VALID};

const NONE: [&str; 0] = [];

#[test]
fn findings_come_from_the_unsaved_text() {
    let mut client = Client::editing(TestEnv::project(), VALID);
    assert_eq!(client.findings(), (json!(1), Vec::new()));
    client.edit(2, (2, 24), (2, 40), "./other.py:graph");
    let (version, found) = client.findings();
    assert_eq!((version, found.len()), (json!(2), 1));
    let found = &found[0];
    assert_eq!((&found["code"], &found["source"]), (&json!("reference-not-found"), &json!("agentcli")));
    assert_eq!(found["severity"], 1);
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("there is no file `./other.py`\nhelp: "), "{message}");
    let range = json!({"start": {"line": 2, "character": 24}, "end": {"line": 2, "character": 34}});
    assert_eq!(found["range"], range);
    assert_eq!(fs::read_to_string(client.project.path("agent.json")).unwrap(), VALID);
}

#[test]
fn nothing_outside_of_the_project_is_searched_or_proposed() {
    let mut client = Client::editing(TestEnv::project(), VALID);
    assert_eq!(client.codes(), NONE);
    for (version, path, code) in [(2, "/", "absolute-path"), (3, "../../../..", "path-outside-project")] {
        let text = VALID.replace("[\".\"]", &format!("[\".\", \"{path}\"]"));
        client.change(version, &json!({"text": text}));
        assert_eq!(client.codes(), [code], "{path}");
    }
    let text = r#"{"dependencies": [".", "/"], "graphs": {"a": "/etc/"}, "env": "/etc/"}"#;
    client.change(4, &json!({"text": text}));
    for typed in ["\"/\"", "/etc/\"}", "/etc/\""] {
        let end = text.rfind(typed).unwrap() + typed.trim_end_matches('}').len() - 1;
        let found = client.ask("textDocument/completion", 0, u32::try_from(end).unwrap());
        assert_eq!(found, json!([]), "{typed}");
    }
}

#[test]
fn a_new_file_need_not_exist() {
    let project = TestEnv::empty().file("app/agent.py", "graph = object()\n");
    let (mut client, _) = Client::open_with(project, json!({}));
    client.open("app/langgraph.json", r#"{"graphs": {"a": "./agent.py:grph"}, "dependencies": ["."]}"#);
    assert!(client.codes().contains(&"undefined-name".to_owned()));
    assert!(!client.project.path("app/langgraph.json").exists());
}

#[test]
fn other_files_and_schemes_are_ignored() {
    let (mut client, _) = Client::open_with(TestEnv::project(), json!({}));
    client.open("package.json", "{,");
    let document = json!({"uri": "untitled:agent.json", "languageId": "json", "version": 1, "text": "{,"});
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
    client.open("agent.json", VALID);
    assert_eq!(client.codes(), NONE);
}

#[test]
fn a_syntax_error_in_the_middle_hides_nothing_after_it() {
    let text =
        "{\n  \"dependencies\": [\".\"],\n  \"graphs\": {\"a\": },\n  \"pip_installer\": \"nope\"\n}\n";
    let client = Client::editing(TestEnv::project(), text);
    let (_, found) = client.findings();
    let places: Vec<(&str, u64)> = found
        .iter()
        .map(|it| (it["code"].as_str().unwrap(), it["range"]["start"]["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [("json-syntax", 2), ("unknown-value", 3)]);
}

#[test]
fn edits_beside_characters_of_two_units_and_crlf() {
    let text = VALID.replace('\n', "\r\n").replace("\"agent\"", "\"a\", \"😀😀\"");
    let mut client = Client::editing(TestEnv::project(), &text);
    assert!(!client.codes().is_empty());
    // Before: `  "graphs": { "a", "😀😀": "./agent.py:graph" }`.
    client.edit(2, (2, 14), (2, 22), "\"b");
    assert_eq!(client.codes(), NONE);
    client.edit(3, (2, 33), (2, 34), "H");
    let (_, found) = client.findings();
    assert_eq!(
        (&found[0]["code"], &found[0]["range"]["start"]["character"]),
        (&json!("undefined-name"), &json!(33))
    );
}

#[test]
fn the_last_of_many_rapid_edits_counts() {
    let mut client = Client::editing(TestEnv::project(), VALID);
    assert_eq!(client.codes(), NONE);
    for version in 2..200 {
        client.edit(version, (0, 1), (0, 1), "x");
    }
    client.edit(200, (0, 1), (0, 199), "");
    let (mut version, mut found) = client.findings();
    while version != 200 {
        (version, found) = client.findings();
    }
    assert_eq!(found, Vec::<Value>::new());
}

#[test]
fn a_change_of_a_file_or_a_save_checks_again() {
    let mut client = Client::editing(TestEnv::project(), VALID);
    assert_eq!(client.codes(), NONE);
    fs::write(client.project.path("agent.py"), "x = 1\n").unwrap();
    let change = json!({"uri": client.uri("agent.py"), "type": 2});
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [change]}));
    assert_eq!(client.codes(), ["undefined-name"]);
    fs::write(client.project.path("agent.py"), "graph = 1\n").unwrap();
    let document = json!({"uri": client.uri("agent.json")});
    client.notify("textDocument/didSave", json!({"textDocument": document}));
    let (_, found) = client.findings();
    assert_eq!(found[0]["code"], "unusable-value");
    let related = &found[0]["relatedInformation"][0];
    assert_eq!(related["message"], "defined here");
    assert_eq!(related["location"]["uri"], json!(client.uri("agent.py")));
    assert_eq!(related["location"]["range"]["start"], json!({"line": 0, "character": 0}));
}

#[test]
fn a_closed_file_has_no_findings() {
    let mut client = Client::editing(TestEnv::project(), "{");
    assert!(!client.codes().is_empty());
    let document = json!({"uri": client.uri("agent.json")});
    client.notify("textDocument/didClose", json!({"textDocument": document}));
    assert_eq!(client.findings(), (Value::Null, Vec::new()));
}

#[test]
fn unnecessary_parts_are_tagged_and_secrets_are_not_shown() {
    let text =
        VALID.replace("\n}", ",\n  \"graphs\": {},\n  \"env\": {\"A\": \"hunter\", \"A\": [\"hunter\"]}\n}");
    let client = Client::editing(TestEnv::project(), &text);
    let (_, found) = client.findings();
    let tagged = found.iter().find(|it| it["code"] == "duplicate-key").unwrap();
    assert_eq!(tagged["tags"], json!([1]));
    assert!(!json!(found).to_string().contains("hunter"), "{found:?}");
}
