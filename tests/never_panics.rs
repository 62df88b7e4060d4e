//! Whatever the text: no panic, places inside of the text, and nothing but text on the terminal.

use agentcli::cli::check::{Checked, Finding};
use agentcli::cli::report::text::Look;
use agentcli::cli::report::{self, Format};
use agentcli::compiler::analyze;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::front::schema;
use agentcli::compiler::front::source::Source;
use proptest::prelude::*;

/// Configurations to break: every key of the schema appears in one of them.
const SEEDS: &[&str] = &[
    include_str!("../fixtures/valid/every-key/agent.json"),
    r#"{"dependencies": [".", "langchain>=0.3"], "graphs": {"agent": "./agent.py:graph"}}"#,
    r#"{"graphs": {"a": {"path": "./a.ts:x", "description": "日本語 \u00e9\ud83d\ude00"}}, "node_version": 20}"#,
];

fn check(text: &str) -> Result<(), TestCaseError> {
    let files = MemoryFiles::new([("agent.py", "graph = 1"), ("requirements.txt", "")]);
    let analysis = analyze("agent.json", text, &files);
    let locate = |diagnostic: agentcli::diagnostic::Diagnostic| {
        let span = analysis.document.span(&diagnostic.place);
        Finding { diagnostic, span }
    };
    let findings: Vec<Finding> = analysis.diagnostics.into_iter().map(locate).collect();
    for finding in &findings {
        let span = &finding.span;
        prop_assert!(span.start <= span.end && text.get(span.clone()).is_some(), "{finding:?}");
    }
    let checked = [Checked { source: Source::new("agent.json", text), findings, graphs: 0 }];
    for width in [0, 60, 100] {
        let shown = report::render(Format::Text, &checked, Look { is_coloured: false, width });
        prop_assert!(!shown.chars().any(|c| c != '\n' && c.is_control()), "{shown:?}");
    }
    for format in [Format::Json, Format::Sarif] {
        let shown = report::render(format, &checked, Look { is_coloured: false, width: 100 });
        prop_assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{shown}");
    }
    let shown = report::render(Format::Github, &checked, Look { is_coloured: false, width: 100 });
    prop_assert_eq!(shown.lines().count(), checked[0].findings.len());
    Ok(())
}

/// Pieces that mean something to a JSON parser, and some that mean something to a terminal.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "'",
        "\\",
        "\\u12",
        "\\ud800",
        "//",
        "/*",
        "*/",
        "#",
        "\n",
        "\r\n",
        "\t",
        " ",
        "null",
        "true",
        "NaN",
        "-1e999",
        "0.5",
        "01",
        "\u{feff}",
        "\u{1b}[31m",
        "\u{202e}",
        "日本",
        "😀",
        "e\u{301}",
        "\"graphs\"",
        "\"dependencies\"",
        "\"agent\"",
        "\"./agent.py:graph\"",
        "\"http\"",
        "\"cors\"",
        "\"path\"",
        "\".\"",
    ];
    prop_oneof![4 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

/// A configuration with a few of its parts cut out, doubled or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..12usize, piece());
    (prop::sample::select(SEEDS.to_vec()), prop::collection::vec(change, 1..6)).prop_map(|(seed, changes)| {
        let mut letters: Vec<char> = seed.chars().collect();
        for (at, length, piece) in changes {
            let at = at.index(letters.len() + 1);
            let end = (at + length).min(letters.len());
            letters.splice(at..end, piece.chars());
        }
        letters.into_iter().collect()
    })
}

/// A configuration in which one value has become another one: shape and types are wrong, the syntax is not.
fn retyped() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "3",
        "-1",
        "0.5",
        "null",
        "true",
        "\"\"",
        "\"x\"",
        "[]",
        "[3]",
        "{}",
        "{\"x\": 1}",
    ]);
    let seeds: Vec<serde_json::Value> =
        SEEDS.iter().map(|seed| serde_json::from_str(seed).unwrap()).collect();
    (prop::sample::select(seeds), prop::collection::vec((any::<prop::sample::Index>(), value), 1..4))
        .prop_map(|(mut seed, changes)| {
            for (at, value) in changes {
                let all = pointers(&seed);
                let target = seed.pointer_mut(&all[at.index(all.len())]).unwrap();
                *target = serde_json::from_str(value).unwrap();
            }
            serde_json::to_string_pretty(&seed).unwrap()
        })
}

fn pointers(value: &serde_json::Value) -> Vec<String> {
    let below = |key: String, value: &serde_json::Value| -> Vec<String> {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers(value).into_iter().map(|rest| format!("/{key}{rest}")).collect()
    };
    let mut all = vec![String::new()];
    match value {
        serde_json::Value::Array(items) => {
            all.extend(items.iter().enumerate().flat_map(|(index, item)| below(index.to_string(), item)));
        }
        serde_json::Value::Object(members) => {
            all.extend(members.iter().flat_map(|(key, item)| below(key.clone(), item)));
        }
        _ => {}
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn nearly_json(pieces in prop::collection::vec(piece(), 0..60)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn broken_configurations(text in mutated()) {
        check(&text)?;
    }

    #[test]
    fn wrongly_typed_configurations(text in retyped()) {
        check(&text)?;
    }
}

#[test]
fn the_seeds_have_every_key() {
    let seed: serde_json::Value = serde_json::from_str(SEEDS[0]).unwrap();
    let keys = schema::schema()["properties"].as_object().unwrap().keys();
    for key in keys.filter(|key| *key != "source") {
        assert!(seed.get(key).is_some(), "fixtures/valid/every-key lacks `{key}`");
    }
}
