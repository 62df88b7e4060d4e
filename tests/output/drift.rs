//! The published schema, the table of keys and the checks describe the same configuration. `specification.rs` compares
//! the schema with the specification.

use std::collections::BTreeSet;
use std::fs;

use agentcli::compiler::analyze;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::front::keys::{KEYS, Key, row};
use agentcli::compiler::front::schema::schema;
use agentcli::compiler::tree::Tree;
use agentcli::diagnostic::Pointer;
use serde_json::{Value, json};

use crate::harness::fixtures;

/// Keys that `fixtures/valid/every-key` cannot hold, and why.
const NOT_IN_FIXTURE: &[(&str, &str)] = &[
    ("/properties/checkpointer/properties/path", "it belongs to another backend"),
    ("/properties/_INTERNAL_docker_tag", "it replaces `api_version`; a test of image tags has it"),
    ("/properties/source", "it replaces `dependencies`; fixtures/valid/uv-workspace has it"),
    ("/properties/source/properties/kind", "as above"),
    ("/properties/source/properties/root", "as above"),
    ("/properties/source/properties/package", "as above"),
    ("/properties/source/properties/extras", "as above"),
    ("/properties/source/properties/groups", "as above"),
];

/// Follows the `$ref` of a part of the schema: returns its place and the part.
pub(crate) fn resolved<'a>(at: &'a str, part: &'a Value) -> (&'a str, &'a Value) {
    match part["$ref"].as_str() {
        Some(reference) => {
            let at = reference.trim_start_matches('#');
            (at, schema().pointer(at).unwrap())
        }
        None => (at, part),
    }
}

/// Calls `visit` with every property of the schema, each definition once: its place and what describes it.
fn each_property(at: &str, part: &'static Value, visit: &mut dyn FnMut(&str, &'static Value)) {
    for (key, property) in part["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}/properties/{}", key.replace('/', "~1"));
        visit(&at, property);
        each_property(&at, property, visit);
    }
    for inner in ["additionalProperties", "items"].into_iter().filter(|inner| part[*inner].is_object()) {
        each_property(&format!("{at}/{inner}"), &part[inner], visit);
    }
    for (name, definition) in part["$defs"].as_object().into_iter().flatten() {
        each_property(&format!("{at}/$defs/{name}"), definition, visit);
    }
}

/// The places of the schema that describe something in `value`.
fn used(at: &str, part: &Value, value: &Value, found: &mut BTreeSet<String>) {
    let (at, part) = resolved(at, part);
    for (key, inner) in value.as_object().into_iter().flatten() {
        match part["properties"].get(key) {
            Some(property) => {
                let at = format!("{at}/properties/{key}");
                found.insert(at.clone());
                used(&at, property, inner, found);
            }
            None => used(&format!("{at}/additionalProperties"), &part["additionalProperties"], inner, found),
        }
    }
    for inner in value.as_array().into_iter().flatten() {
        used(&format!("{at}/items"), &part["items"], inner, found);
    }
}

fn every_key() -> Value {
    let text = fs::read_to_string(fixtures("valid/every-key/agent.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_fixture_holds_every_key_of_the_schema() {
    let mut all = BTreeSet::new();
    each_property("", schema(), &mut |at, _| all.extend([at.to_owned()]));
    for (at, _) in NOT_IN_FIXTURE {
        assert!(all.remove(*at), "{at} is no key of the schema any more");
    }
    let mut found = BTreeSet::new();
    used("", schema(), &every_key(), &mut found);
    assert_eq!(found, all);
}

/// The schema's part for the pointer of a row.
fn part_of(row: &Key) -> &'static Value {
    row.parts().fold(schema(), |part, key| {
        let inner = if key == "*" { &part["additionalProperties"] } else { &part["properties"][key] };
        resolved("", inner).1
    })
}

#[test]
fn the_table_of_keys_fits_the_schema() {
    for row in KEYS {
        let mut part = part_of(row).clone();
        assert!(part.is_object(), "the schema lacks {}", row.pointer);
        part["$defs"] = schema()["$defs"].clone();
        let example: Value = serde_json::from_str(row.example).unwrap();
        let wrong: Vec<_> = jsonschema::validator_for(&part)
            .unwrap()
            .iter_errors(&example)
            .map(|it| it.to_string())
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", row.pointer);
    }
    for key in schema()["properties"].as_object().unwrap().keys().filter(|key| *key != "$schema") {
        assert!(row(&Pointer::root().join(key)).is_some(), "the table lacks {key}");
    }
}

#[test]
fn the_schema_is_valid_and_explains_every_key() {
    jsonschema::meta::validate(schema()).unwrap();
    let mut silent = Vec::new();
    each_property("", schema(), &mut |at, property| {
        let is_text = |text: &str| text.ends_with('.') && text.len() > 10;
        if !property["description"].as_str().is_some_and(is_text) {
            silent.push(at.to_owned());
        }
    });
    assert!(silent.is_empty(), "no description, or no sentence: {silent:#?}");
}

/// An editor that reads the schema refuses what `validate` refuses, and nothing else.
#[test]
fn only_projects_without_python_do_without_dependencies() {
    let validator = jsonschema::validator_for(schema()).unwrap();
    for (graphs, is_javascript) in [
        (json!({"a": "./a.ts:g"}), true),
        (json!({"a": "./a.mjs:g", "b": {"path": "src/b.tsx:g", "description": "x"}}), true),
        (json!({"a": "./a.cts"}), true),
        (json!({"a": "./a.py:g"}), false),
        (json!({"a": "./a.ts:g", "b": "./b.py:g"}), false),
        (json!({"a": {"path": "./a.py:g"}}), false),
        (json!({"a": {"description": "./a.ts:g"}}), false),
        (json!({"a": "./a.py:b.ts"}), false),
        (json!({"a": "./a.ts:b:g"}), false),
        (json!({"a": "./ats:g"}), false),
        (json!({}), false),
        (json!("./a.ts:g"), false),
    ] {
        let config = json!({"graphs": graphs});
        let analysis = analyze("agent.json", &config.to_string(), &Tree::new(MemoryFiles::default()));
        let is_missing = analysis
            .diagnostics
            .iter()
            .any(|it| it.rule.code == "missing-key" && it.place.pointer().as_str() == "/dependencies");
        assert_eq!(is_missing, !is_javascript, "{config}: {:#?}", analysis.diagnostics);
        assert_eq!(validator.is_valid(&config), is_javascript, "{config}");
        if is_javascript {
            assert!(validator.is_valid(&json!({"dependencies": [], "graphs": graphs})), "{config}");
        }
    }
}
