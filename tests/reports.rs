//! The report formats, each against an exact golden, and JUnit with an XML parser.

mod drawing;
pub(crate) mod pages;
mod reference;
#[cfg(feature = "system-tests")]
mod sarif;

use std::collections::BTreeSet;

use agentcli::cli::report::Format;
use clap::ValueEnum;
use roxmltree::{Document, Node};
use serde_json::Value;

use crate::harness::{TestEnv, VALID, fixtures, golden};

/// The names of all formats.
pub(crate) fn formats() -> Vec<String> {
    let name = |format: &Format| format.to_possible_value().unwrap().get_name().to_owned();
    Format::value_variants().iter().map(name).collect()
}

#[test]
fn each_format_matches_its_golden() {
    let folder = fixtures("reports");
    for format in formats() {
        let run =
            TestEnv::inside(&folder).run(&format!("validate agent.json missing.json --format {format}"));
        assert_eq!(run.code, 1);
        golden(&folder.join(format!("expected.{format}")), &run.out).unwrap();
    }
}

/// Values of `env` may be secrets, even if the text around them is broken.
#[test]
fn no_format_shows_values_of_env() {
    // The parser gives up after 20 errors.
    let hopeless = format!(r#""A": [{}], "B": "sekrit1""#, "1 ,,".repeat(21));
    for entries in [
        &*hopeless,
        r#""A=B": "sekrit2", "": "sekrit1""#,
        r#""A": "sekrit1", "A": "sekrit2""#,
        r#""A": ["sekrit1", { "B": "sekrit2" }]"#,
        r#""A": 'sekrit1', "B": sekrit2"#,
        r#""A": "sekrit1\q", "B": "ä\u00e4sekrit2",,"#,
        r#""A": "x"sekrit1", "B": "sekrit2""#,
        r#""1": 7351, "2": 07351"#,
        r#""A": "sekrit1"#,
    ] {
        let config = format!(
            "{{ \"dependencies\": [\".\"], \"graphs\": {{ \"agent\": \"./agent.py:graph\" }}, \"env\": {{ {entries} }} }}\n"
        );
        let env = TestEnv::project().file("agent.json", &config);
        for format in formats() {
            let run = env.run(&format!("validate --format {format}"));
            let said = format!("{}{}", run.out, run.err);
            assert_eq!(run.code, 1, "{entries}: {said}");
            assert!(!said.contains("sekrit") && !said.contains("7351"), "{entries}: {said}");
        }
    }
    let latin1 = [b"{ \"env\": { \"A\": \"sekrit1\", \"B\": \"sekrit\xe4\" } }".as_slice()].concat();
    let run = TestEnv::project().file("agent.json", latin1).run("validate");
    assert!(run.code == 1 && !run.out.contains("sekrit"), "{}", run.out);
}

#[test]
fn masked_values_keep_carets_in_place() {
    let config = r#"{ "env": { "A": "sekrit", "B=": "ä" }, "graphs": { "agent": "./agent.py:graph" }, "dependencies": ["."] }"#;
    let run = TestEnv::project().file("agent.json", config).run("validate");
    let lines: Vec<&str> = run.out.lines().collect();
    let shown = lines.iter().position(|line| line.contains("\"******\", \"B=\": \"**\"")).unwrap();
    assert_eq!(lines[shown].find("\"B=\""), lines[shown + 1].find("^^^^"), "{}", run.out);
}

#[test]
fn long_lines_are_cut_around_the_carets() {
    let keys: String = (0..2000).map(|number| format!(r#", "key{number:04}": "ä""#)).collect();
    let config = format!(
        r#"{{ "graphs": {{ "agent": "./agent.py:graph" }}, "dependencies": ["."], "env": {{ "A": "sekrit{}" }}{keys} }}"#,
        "x".repeat(5000)
    );
    let run = TestEnv::project().file("agent.json", &config).run("validate");
    assert!(!run.out.contains("sekrit") && !run.out.contains("xx"), "{}", run.out);
    for key in ["\"key0000\"", "\"key1000\"", "\"key1999\""] {
        let column = config[..config.find(key).unwrap()].chars().count() + 1;
        let mut lines = run.out.lines().skip_while(|line| !line.ends_with(&format!("agent.json:1:{column}")));
        let (shown, carets) = (lines.nth(2).unwrap(), lines.next().unwrap());
        let before = |line: &str, part| line.find(part).map(|at| line[..at].chars().count());
        assert!(shown.starts_with("1 | ...") && shown.chars().count() <= 100, "{shown}");
        assert_eq!(before(shown, key), before(carets, "^^^^^^^^^"), "{shown}\n{carets}");
    }
}

#[test]
fn json_has_the_documented_keys() {
    let run = TestEnv::inside(&fixtures("reports")).run("validate agent.json missing.json --format json");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.err, "");
    assert_eq!((&report["version"], &report["files"]), (&2.into(), &2.into()));
    let keys: Vec<&String> = report["diagnostics"][0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "code",
            "severity",
            "message",
            "file",
            "pointer",
            "line",
            "column",
            "end_line",
            "end_column",
            "related",
            "help",
            "fix",
        ]
    );
    let empty = TestEnv::project().run("validate --format json").out;
    assert_eq!(empty, "{\"version\":2,\"files\":1,\"diagnostics\":[]}\n");
}

#[test]
fn gitlab_has_the_documented_keys() {
    let run = TestEnv::inside(&fixtures("reports")).run("validate agent.json missing.json --format gitlab");
    assert_eq!(run.err, "");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let findings = report.as_array().unwrap();
    for finding in findings {
        let keys: Vec<&String> = finding.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["description", "check_name", "fingerprint", "severity", "location"]);
        let severity = finding["severity"].as_str().unwrap();
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&severity), "{finding}");
        assert!(finding["location"]["path"].is_string(), "{finding}");
        assert!(finding["location"]["lines"]["begin"].as_u64() > Some(0), "{finding}");
    }
    assert_eq!(
        findings[2]["description"].as_str(),
        Some("`python_version` cannot be `2.7`; use one of `3.11`, `3.12`, `3.13` and `3.14`")
    );
    assert_eq!(TestEnv::project().run("validate --format gitlab").out, "[]\n");
}

/// GitLab reports a finding with a new fingerprint as new, and shows only one of those with the same fingerprint.
#[test]
fn fingerprints_are_unique_and_survive_line_moves() {
    let findings = |config: &str| -> Vec<(String, u64)> {
        let run = TestEnv::project().file("agent.json", config).run("validate ./agent.json --format gitlab");
        let report: Value = serde_json::from_str(&run.out).unwrap();
        let findings = report.as_array().unwrap().iter();
        findings
            .map(|finding| {
                assert_eq!(finding["location"]["path"], "agent.json");
                (
                    finding["fingerprint"].as_str().unwrap().to_owned(),
                    finding["location"]["lines"]["begin"].as_u64().unwrap(),
                )
            })
            .collect()
    };
    let config = "{\n\"a\": [1,],\n\"b\": [1,],\n\"xxxxxxxx\": 1,\n\"yyyyyyyy\": 1\n}";
    let before = findings(config);
    let after = findings(&format!("\n\n{config}"));
    assert!(before.len() >= 4, "{before:?}");
    let moved = before.iter().map(|(fingerprint, line)| (fingerprint.clone(), line + 2));
    assert_eq!(moved.collect::<Vec<_>>(), after);
    let unique: BTreeSet<&String> = before.iter().map(|(fingerprint, _)| fingerprint).collect();
    assert_eq!(unique.len(), before.len(), "{before:?}");
}

fn named<'a>(node: Node<'a, 'a>, name: &'static str) -> Vec<Node<'a, 'a>> {
    node.descendants().filter(|node| node.has_tag_name(name)).collect()
}

#[test]
fn junit_has_a_suite_per_file_and_fails_where_validate_fails() {
    let warning = VALID.replacen('{', "{ \"zzzzzz\": 1,", 1);
    let env = TestEnv::project().file("b.json", &warning).file("c.json", "{");
    for (arguments, failures) in [
        ("agent.json b.json", ["0", "0"].as_slice()),
        ("agent.json b.json --deny-warnings", &["0", "1"]),
        ("agent.json b.json c.json", &["0", "0", "1"]),
    ] {
        let run = env.run(&format!("validate {arguments} --format junit"));
        let document = Document::parse(&run.out).unwrap();
        let suites = named(document.root(), "testsuite");
        let stated: Vec<&str> = suites.iter().map(|suite| suite.attribute("failures").unwrap()).collect();
        assert_eq!(stated, failures, "{}", run.out);
        for suite in suites {
            let count = |name| named(suite, name).len().to_string();
            assert_eq!(suite.attribute("failures"), Some(&*count("failure")), "{}", run.out);
            assert_eq!(suite.attribute("tests"), Some(&*count("testcase")), "{}", run.out);
        }
        assert_eq!(run.code != 0, !named(document.root(), "failure").is_empty(), "{}", run.out);
    }
}

/// Keys of a configuration are part of messages. XML allows some of these characters in no form.
#[test]
fn junit_is_well_formed_for_any_text() {
    let key = "zzzz\0\u{1}\t\u{1b}[31m\r\n\u{7f}\u{85}\u{2028}\u{fffe}\u{ffff}]]>&<a b=\"'\">&amp;\u{10ffff}";
    let config = VALID.replacen('{', &format!("{{ {}: 1,", Value::from(key)), 1);
    let broken = VALID.replacen('{', &format!("{{ \"{key}\": 1,"), 1);
    let env = TestEnv::project().file("agent.json", config).file("b<&>\"'\n\u{1}.json", broken);
    let run = env.run_with(&["validate", "agent.json", "b<&>\"'\n\u{1}.json", "--format", "junit"]);
    let document = Document::parse(&run.out).unwrap();
    assert_eq!(named(document.root(), "testsuite").len(), 2);
    let told = named(document.root(), "system-out")[0].text().unwrap();
    assert!(told.contains("\\u{ffff}]]>&<a b=\"'\">&amp;"), "{told}");
}
