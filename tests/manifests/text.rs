//! Whatever the strings: the text says exactly them, to another YAML parser.

use agentcli::compiler::back::emit::kubernetes::manifests;
use agentcli::compiler::back::plan::Plan;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::output::compose_file::documents;
use crate::output::goldens;
use crate::output::properties::nasty;

pub(super) fn plan() -> Plan {
    let case = goldens::cases().remove(0);
    goldens::plan(&case, &goldens::config_of(&case))
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
fn another_parser_reads_what_was_meant() {
    let plan = plan();
    let cases = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(cases, |(objects in vec(object(), 1..3), remark in nasty())| {
        let text = manifests(&plan, &objects, &[remark]);
        prop_assert_eq!(documents(&text), objects, "{}", text);
    });
}
