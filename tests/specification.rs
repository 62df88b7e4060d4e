//! The schema has the keys, types, values and defaults of the specification, the file that AGENTCLI_SPEC names. The
//! schema marks the keys that only it has.

use std::collections::BTreeSet;
use std::fs;

use agentcli::compiler::front::schema::schema;
use serde_json::Value;

use crate::harness::outside;
use crate::output::drift::resolved;

/// Marks keys of the schema that public configurations use and the specification does not name.
const NOT_SPECIFIED: &str = "Not in the specification.";

/// One row of a table of the specification.
#[derive(Debug)]
struct Row {
    /// Path of the key, with dots.
    key: String,
    kind: String,
    default: Option<String>,
    rules: String,
}

/// The sections that describe the configuration, and the prefix of their keys.
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

/// The schema of a key with dots.
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

/// The values that the schema allows, without those that the specification lacks.
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

/// The text without its parentheses and their contents.
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

/// The values that a rule lists.
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

/// The fields that a rule names with their type, such as `max_age (integer)`.
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

/// The default of a row, if it is a value.
fn default(row: &Row) -> Option<String> {
    let words: Vec<&str> = row.rules.split_whitespace().collect();
    let behind = words.windows(2).find(|pair| pair[0] == "Default").map(|pair| pair[1].trim_end_matches('.'));
    let marked = words.windows(2).find(|pair| pair[1].starts_with("(default")).map(|pair| pair[0]);
    let backend = row.rules.contains("the default)").then_some("default");
    let column = row.default.as_deref().filter(|default| !default.starts_with("no "));
    column.or(backend).or(marked).or(behind).map(str::to_owned)
}

#[test]
fn the_schema_agrees_with_the_specification() {
    let rows = rows(&fs::read_to_string(outside("AGENTCLI_SPEC")).unwrap());
    assert!(rows.len() > 45, "found only {} rows: {rows:#?}", rows.len());
    for row in &rows {
        let (key, part) = (&row.key, described(&row.key));
        assert!(part.is_object(), "the schema lacks `{key}`");
        let mut actual = types(part);
        if key == "node_version" {
            assert!(actual.remove("integer") && actual.insert("number".to_owned()));
        }
        assert_eq!(actual, wanted_types(&row.kind), "type of `{key}`");
        if let Some(words) = choice(&row.rules).filter(|_| key != "dependencies") {
            assert_eq!(options(part), words, "values of `{key}`");
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
    assert_specified("", schema(), &rows);
}

/// Checks that every key of the schema is in a table, in the rules of its row, or marked as not specified.
fn assert_specified(prefix: &str, part: &Value, rows: &[Row]) {
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
            assert!(!rows.iter().any(|row| row.key == dotted), "`{dotted}` is in the specification now");
            continue;
        }
        assert!(rows.iter().any(names), "`{dotted}` is in the schema, not in the specification");
        assert_specified(&format!("{dotted}."), resolved("", property).1, rows);
    }
}
