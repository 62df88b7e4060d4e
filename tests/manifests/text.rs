//! Whatever the values: the filters of templates write exactly them, for our reader of YAML and for another.

use agentcli::compiler::back::emit::heading::comments;
use agentcli::compiler::back::emit::template::render;
use agentcli::compiler::manifests::yaml;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::output::compose_file::documents;
use crate::output::properties::nasty;

/// Each value in its places, as YAML documents.
const TEMPLATE: &str = "\
{% for value in values %}
---
block:
  {{ value | block(2) }}
line: {{ value | yaml }}
flow: [{{ value | flow }}, {key: {{ value | flow }}}]
{% endfor %}
";

/// The documents of values, below a comment.
pub(super) fn written(values: &[Value], comment: String) -> String {
    comments([comment]) + &render(TEMPLATE, &json!({ "values": values }))
}

/// What [`written`] means.
pub(super) fn meant(values: &[Value]) -> Vec<Value> {
    let document = |value| json!({ "block": value, "line": value, "flow": [value, { "key": value }] });
    values.iter().map(document).collect()
}

/// Strings, among them those that parsers of YAML 1.1 or 1.2 take for other values without quotes.
fn text() -> impl Strategy<Value = String> {
    let like_values = prop::sample::select(vec![
        "y",
        "No",
        "ON",
        "null",
        "~",
        "1:30",
        "1_000",
        "0b1",
        "0o7",
        "017",
        "1e3",
        ".inf",
        ".nan",
        "2001-01-01",
        "<<",
        "=",
        "a: b",
        "a:",
        "a #b",
        "- a",
        "? a",
        "!a",
        "&a",
        "*a",
        "@a",
        "`a",
        "%a",
        "---",
        "...",
        "",
        " ",
    ]);
    let long = prop::sample::select(vec!["a", "ä", "a: "]).prop_map(|text| text.repeat(1100));
    prop_oneof![20 => like_values.prop_map(str::to_owned), 20 => nasty(), 1 => long]
}

/// Objects, as deep as those of Kubernetes.
pub(super) fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => text().prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => Just(json!({})),
        1 => Just(json!([])),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            hash_map(text(), inner, 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    hash_map(text(), value, 1..4).prop_map(|members| Value::Object(members.into_iter().collect()))
}

#[test]
fn two_parsers_read_what_was_meant() {
    let cases = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(cases, |(values in vec(prop_oneof![object(), text().prop_map(Value::from)], 1..3), comment in nasty())| {
        let text = written(&values, comment);
        prop_assert_eq!(documents(&text), meant(&values), "{}", text);
        prop_assert_eq!(yaml::documents(&text).unwrap(), meant(&values), "{}", text);
    });
}

#[test]
fn quotes_are_only_where_yaml_needs_them() {
    for (value, line, flow) in [
        (json!(["CMD", "pg_isready", "-U", "127.0.0.1"]), "[CMD, pg_isready, -U, 127.0.0.1]", None),
        (json!("redis:6"), "redis:6", Some("\"redis:6\"")),
        (json!("${A:-b}"), "${A:-b}", Some("\"${A:-b}\"")),
        (json!("postgres://a:b@c:1/d?e=f"), "postgres://a:b@c:1/d?e=f", Some("\"postgres://a:b@c:1/d?e=f\"")),
        (json!("two words"), "two words", None),
        (json!(["."]), "[.]", None),
        (json!("./a"), "./a", None),
        (json!(".env"), ".env", None),
        (json!(".inf"), "\".inf\"", None),
        (json!("10Gi"), "10Gi", None),
        (json!("8000"), "\"8000\"", None),
        (json!("1e3"), "\"1e3\"", None),
        (json!("127.0.0.1:1:2"), "\"127.0.0.1:1:2\"", None),
        (json!("no"), "\"no\"", None),
        (json!("a #b"), "\"a #b\"", None),
        (json!({ "a": {}, "b": 1 }), "{a: {}, b: 1}", None),
    ] {
        let both = render("{{ it | yaml }}\n{{ it | flow }}", &json!({ "it": value }));
        assert_eq!(both, format!("{line}\n{}", flow.unwrap_or(line)));
    }
}
