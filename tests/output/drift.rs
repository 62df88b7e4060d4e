//! The configuration is described three times: in Rust types, in the published schema, in the specification. These
//! tests hold the three together; what is on purpose only in one of them is named here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use agentcli::compiler::analyze;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::front::keys::{KEYS, Key, row};
use agentcli::compiler::front::schema::schema;
use agentcli::diagnostic::Pointer;
use serde_json::{Value, json};

use crate::harness::fixtures;

/// Keys that `fixtures/valid/every-key` cannot hold, and why.
const NOT_IN_FIXTURE: &[(&str, &str)] = &[
    ("/properties/checkpointer/properties/path", "it belongs to another backend"),
    ("/properties/source", "it is not supported yet"),
    ("/properties/source/properties/kind", "it is not supported yet"),
    ("/properties/source/properties/root", "it is not supported yet"),
    ("/properties/source/properties/package", "it is not supported yet"),
];

/// Marks keys of the schema that public configurations use and the specification does not name.
const NOT_SPECIFIED: &str = "Not in the specification.";

fn resolved<'a>(at: &'a str, part: &'a Value) -> (&'a str, &'a Value) {
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
        let analysis = analyze("agent.json", &config.to_string(), &MemoryFiles::default());
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

/// A file of the shared folder; nothing, with a word on stderr, where there is none.
pub(crate) fn shared(path: &str, variable: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    let found = env::var_os(variable).map_or(beside, PathBuf::from);
    if found.exists() {
        return Some(found);
    }
    let skipped = format!("skipped: {} does not exist; {variable} may name it\n", found.display());
    std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes()).unwrap();
    None
}

/// One row of a table of the specification.
#[derive(Debug)]
struct Row {
    /// Where the key stands in the configuration, dotted.
    key: String,
    kind: String,
    default: Option<String>,
    rules: String,
}

/// The sections that describe the configuration, and where what they describe stands.
const SECTIONS: &[(&str, &str)] = &[
    ("### Configuration file", ""),
    ("#### store.index", "store.index."),
    ("#### store.ttl", "store.ttl."),
    ("#### checkpointer", "checkpointer."),
    ("#### http", "http."),
    ("#### webhooks", "webhooks."),
];

fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut prefix = None;
    let mut columns: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') {
            let section =
                SECTIONS.iter().find(|(title, _)| line == *title || line.starts_with(&format!("{title} ")));
            prefix = section.map(|(_, prefix)| *prefix);
            columns.clear();
        }
        let Some(prefix) = prefix.filter(|_| line.starts_with("| ")) else { continue };
        let cells: Vec<String> =
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        if columns.is_empty() {
            columns = cells;
            continue;
        }
        let cell = |name: &str| columns.iter().position(|column| column == name).map(|at| cells[at].clone());
        rows.push(Row {
            key: format!("{prefix}{}", cells[0]),
            kind: cell("Type").unwrap(),
            default: cell("Default"),
            rules: cell("Rules").unwrap(),
        });
    }
    rows
}

/// What the schema says of a dotted key.
fn described(key: &str) -> &'static Value {
    key.split('.').fold(schema(), |part, key| resolved("", &part["properties"][key]).1)
}

fn types(part: &Value) -> BTreeSet<String> {
    let kind = |kind: &Value| match kind.as_str().unwrap_or_default() {
        "array" => format!("array of {}", part["items"]["type"].as_str().unwrap_or_default()),
        kind => kind.to_owned(),
    };
    match &part["type"] {
        Value::Array(kinds) => kinds.iter().filter(|it| *it != "null").map(kind).collect(),
        single => [kind(single)].into(),
    }
}

/// The words that the schema takes for a key of the specification.
fn options(part: &Value) -> Vec<&str> {
    let options =
        [&part["items"]["enum"], &part["enum"], &part["examples"]].into_iter().find_map(Value::as_array);
    let added =
        part["$comment"].as_str().and_then(|comment| comment.strip_prefix("Not in the specification: "));
    let words = options.into_iter().flatten().filter_map(Value::as_str);
    words.filter(|word| Some(*word) != added).collect()
}

fn wanted_types(kind: &str) -> BTreeSet<String> {
    let words = kind.split(" or ").flat_map(|kind| kind.split('/'));
    words.map(|kind| if kind == "float" { "number" } else { kind }.to_owned()).collect()
}

/// Without what stands in parentheses.
fn outside_parentheses(text: &str) -> String {
    let mut depth = 0;
    text.chars()
        .filter(|c| {
            depth += i32::from(*c == '(');
            let is_outside = depth == 0;
            depth -= i32::from(*c == ')');
            is_outside
        })
        .collect()
}

/// The words that a rule offers as values.
fn choice(rules: &str) -> Option<Vec<String>> {
    let plain = outside_parentheses(rules);
    let start =
        ["One of: ", "one of: ", "One of ", "each one of "].iter().find_map(|lead| plain.split_once(lead))?.1;
    let sentence = start.split(". ").next().unwrap_or(start);
    Some(sentence.split(',').map(|word| word.trim().trim_end_matches('.').to_owned()).collect())
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The fields that a rule names with a type behind: `max_age (integer)`.
fn typed_fields(rules: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in rules.match_indices(" (") {
        let name = rules[..at].rsplit(' ').next().unwrap_or_default();
        let kind = rules[at + 2..].split([' ', ')', ';', ',']).next().unwrap_or_default();
        if is_key(name) && ["array", "boolean", "integer", "object", "string"].contains(&kind) {
            found.push((name.to_owned(), kind.to_owned()));
        }
    }
    found
}

/// The default that a row names, as far as it is a value.
fn default(row: &Row) -> Option<String> {
    let words: Vec<&str> = row.rules.split_whitespace().collect();
    let behind = words.windows(2).find(|pair| pair[0] == "Default").map(|pair| pair[1].trim_end_matches('.'));
    let marked = words.windows(2).find(|pair| pair[1].starts_with("(default")).map(|pair| pair[0]);
    let backend = row.rules.contains("the default)").then_some("default");
    let column = row.default.as_deref().filter(|default| !default.starts_with("no "));
    column.or(backend).or(marked).or(behind).map(str::to_owned)
}

#[test]
fn the_schema_says_what_the_specification_says() {
    let Some(path) = shared("spec/cli-and-config.md", "AGENTCLI_SPEC") else { return };
    let rows = rows(&fs::read_to_string(path).unwrap());
    assert!(rows.len() > 45, "only {} rows were understood: {rows:#?}", rows.len());
    for row in &rows {
        let (key, part) = (&row.key, described(&row.key));
        assert!(part.is_object(), "the schema lacks `{key}`");
        let mut actual = types(part);
        if key == "node_version" {
            assert!(actual.remove("integer") && actual.insert("number".to_owned()));
        }
        assert_eq!(actual, wanted_types(&row.kind), "type of `{key}`");
        if let Some(words) = choice(&row.rules).filter(|_| key != "dependencies") {
            assert_eq!(options(part), words, "words of `{key}`");
        }
        if let Some(default) = default(row) {
            let shown = part["default"].as_str().map_or_else(|| part["default"].to_string(), str::to_owned);
            assert_eq!(shown, default, "default of `{key}`");
        }
        for (field, kind) in typed_fields(&row.rules) {
            let inner = types(described(&format!("{key}.{field}")));
            let is_kind = |it: &String| it.split(' ').next() == Some(&kind);
            assert!(inner.len() == 1 && inner.iter().all(is_kind), "type of `{key}.{field}`: {inner:?}");
        }
    }
    nothing_is_made_up("", schema(), &rows);
}

/// Every key of the schema stands in a table, or in the rules of the row that it belongs to, or is excepted by name.
fn nothing_is_made_up(prefix: &str, part: &Value, rows: &[Row]) {
    for (key, property) in part["properties"].as_object().into_iter().flatten() {
        let dotted = format!("{prefix}{key}");
        let names = |row: &Row| {
            let is_about = |outer: &str| dotted.starts_with(&format!("{outer}."));
            let same = row
                .rules
                .starts_with("Same shape as ")
                .then(|| row.rules[14..].trim_end_matches(". ").split([';', '.']).next());
            let rules = same.flatten().and_then(|other| rows.iter().find(|row| row.key.ends_with(other)));
            let mut words = row.rules.split(|c: char| !is_key(&c.to_string()));
            let inherited = rules.is_some_and(|other| other.rules.contains(key.as_str()));
            row.key == dotted || is_about(&row.key) && (inherited || words.any(|word| word == key))
        };
        if property["$comment"] == NOT_SPECIFIED {
            assert!(!rows.iter().any(|row| row.key == dotted), "`{dotted}` is specified by now");
            continue;
        }
        assert!(rows.iter().any(names), "`{dotted}` is in the schema, not in the specification");
        nothing_is_made_up(&format!("{dotted}."), resolved("", property).1, rows);
    }
}
