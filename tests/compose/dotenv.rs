//! Where nothing is said of a difference, compose reads a `.env` file as we do.

use std::collections::BTreeMap;

use agentcli::compiler::manifests::dotenv::{differences, parse};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::{config, environment, file};

const PIECES: &[&str] = &[
    "a",
    "b c",
    "$",
    "$$",
    "$A",
    "${A}",
    "${A:-d}",
    "${A-d}",
    "${",
    "}",
    "\\",
    "\\\\",
    "\\n",
    "\\t",
    "\\$",
    "\\\"",
    "\\'",
    "'",
    "\"",
    "#",
    " #",
    "\t#",
    " ",
    "=",
    ":",
    ";",
    "`",
    "(x)",
    "é",
    "🙂",
    "1",
    "{\"k\": 1}",
    "%",
    "!",
    "\\x41",
    "\n",
];

fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["A", "B", "export C", "D.E", "F-G", " H ", "1X"]);
    let value = vec(prop::sample::select(PIECES), 0..5).prop_map(|pieces| pieces.concat());
    let quote = prop::sample::select(vec!["", "", "'", "\""]);
    (name, quote, value).prop_map(|(name, quote, value)| {
        let value = if quote.is_empty() { value.replace('\n', "") } else { value };
        format!("{name}={quote}{value}{quote}\n")
    })
}

#[test]
fn compose_reads_alike_what_is_not_told() {
    let mut runner = TestRunner::deterministic();
    let directory = TempDir::new().unwrap();
    let mut files = Vec::new();
    let mut told = 0;
    while files.len() < 400 {
        let text = vec(line(), 1..3).new_tree(&mut runner).unwrap().current().concat();
        if differences(&text).is_empty() {
            file(&directory, &format!("e{}", files.len()), &text);
            files.push(text);
        } else {
            told += 1;
        }
    }
    assert!(told < 4000, "nearly nothing is read alike");
    let services: String =
        (0..files.len()).map(|index| format!("  s{index}: {{image: x, env_file: [e{index}]}}\n")).collect();
    file(&directory, "c.yaml", &format!("services:\n{services}"));
    let read = config(directory.path(), &[], "c.yaml").unwrap();
    for (index, text) in files.iter().enumerate() {
        let ours: BTreeMap<String, String> = parse(text, |_| None)
            .variables
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        assert_eq!(environment(&read, &format!("s{index}")), ours, "{text:?}");
    }
}
