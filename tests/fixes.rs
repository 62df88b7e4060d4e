//! `agentcli validate --fix`, `--diff` and `-`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use agentcli::cli::check::check_content;
use agentcli::cli::fix::Fixed;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use tempfile::TempDir;

use crate::harness::TestEnv;

/// A valid configuration, one member a line.
const LINES: &[&str] = &[
    r#""dependencies": [".", "./libs/shared"]"#,
    r#""graphs": { "agent": "./agent.py:graph", "ä\u00e9": "./agent.py:graph" }"#,
    r#""python_version": "3.12""#,
    r#""image_distro": "bookworm""#,
    r#""http": { "mount_prefix": "/agents", "disable_mcp": true }"#,
    r#""env": { "TOKEN": "s3cret", "NAME": "it is" }"#,
    r#""keep_pkg_tools": ["pip"]"#,
];

/// What people write instead of a part of [`LINES`]; each is found once.
const MISTAKES: &[(&str, &str)] = &[
    (r#""dependencies":"#, r#""dependecies":"#),
    (r#""./libs/shared"]"#, r#""./libs/shared",]"#),
    (r#""graphs":"#, "graphs:"),
    (r#""graphs":"#, "'graphs':"),
    (r#""agent": "#, r#""agent"= "#),
    (r#""agent": "./agent.py:graph""#, r#""agent": “./agent.py:graph”"#),
    (r#""3.12""#, "3.12"),
    (r#""image_distro": "#, "\"image_distro\":\u{a0}"),
    ("true", "True"),
    ("true", "\"yes\""),
    (r#""/agents""#, r#""agents""#),
    (r#"true }"#, r#"true, }"#),
    (r#""/agents", "#, r#""/agents",, "#),
    (r#""NAME": "#, "NAME: "),
];

/// The lines of a configuration with this indentation, line end, and text before it.
fn written(lines: &[String], indent: &str, end: &str, start: &str) -> String {
    let members: Vec<String> = lines.iter().map(|line| format!("{indent}{line}")).collect();
    format!("{start}{{{end}{}{end}}}{end}", members.join(&format!(",{end}")))
}

fn project() -> TestEnv {
    TestEnv::project().file("libs/shared/shared.py", "")
}

fn fix(directory: &Path, text: &str) -> Fixed {
    let path = Path::new("agent.json");
    let server = Default::default();
    Fixed::new(check_content(directory, path, server, text.as_bytes().to_vec()), server, directory, path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the layout is, mistakes are undone, and every other byte stays as it was.
    #[test]
    fn mistakes_are_undone(
        mistakes in subsequence(MISTAKES, 1..=5),
        order in Just(LINES.to_vec()).prop_shuffle(),
        indent in select(vec!["", "  ", "\t", " \t   "]),
        end in select(vec!["\n", "\r\n", "\n\n"]),
        start in select(vec!["", "\u{feff}", "\n "]),
    ) {
        let lines: Vec<String> = order.into_iter().map(str::to_owned).collect();
        let text = written(&lines, indent, end, start);
        let mut wrong = lines;
        for (right, mistake) in mistakes {
            for line in &mut wrong {
                *line = line.replacen(right, mistake, 1);
            }
        }
        let wrong = written(&wrong, indent, end, start);
        let project = project();
        let fixed = fix(&project.path(""), &wrong);
        prop_assert_eq!(&fixed.now().source.text, &text, "{}", wrong);
        prop_assert!(fixed.count > 0);
    }

    /// In any text, however broken: what is fixed has no safe fix left, and the diff shows no secret.
    #[test]
    fn all_safe_fixes_are_made(
        cuts in prop::collection::vec((any::<Index>(), select(vec!["", ",", "'", "{", "}", ":", "=", " ", "\n"])), 1..6),
    ) {
        let lines: Vec<String> = LINES.iter().map(|line| (*line).to_owned()).collect();
        let mut text = written(&lines, "  ", "\n", "");
        for (at, new) in cuts {
            let at = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary(at + 1);
            text.replace_range(at..end, new);
        }
        let directory = TempDir::new().unwrap();
        let fixed = fix(directory.path(), &text);
        prop_assert_eq!(fix(directory.path(), &fixed.now().source.text).count, 0);
        prop_assert_eq!(fixed.diff().is_empty(), fixed.count == 0);
        if text.contains("\"s3cret\"") && text.contains("\"env\": {") {
            prop_assert!(!fixed.diff().contains("s3cret"), "{}", fixed.diff());
        }
    }
}

#[test]
fn a_removed_entry_takes_its_line_and_comma_along() {
    let text = "{\r\n\t\"dependencies\": [\r\n\t\t\".\",\r\n\t\t\"./requirements.txt\",\r\n\t\t\"httpx\"\r\n\t],\r\n\t\"graphs\": { \"agent\": \"./agent.py:graph\" },\r\n\t\"priority\": {\"path\": \"./agent.py:graph\"}\r\n}";
    let project = TestEnv::project().file("agent.json", text);
    let run = project.run("validate --fix");
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert_eq!(run.err, "fixed 2 findings in agent.json\nagent.json is valid (1 graph)\n");
    let expected = text
        .replace("\t\t\"./requirements.txt\",\r\n", "")
        .replace(",\r\n\t\"priority\": {\"path\": \"./agent.py:graph\"}", "");
    assert_eq!(std::fs::read_to_string(project.path("agent.json")).unwrap(), expected);
    assert_eq!(project.run("validate --fix").err, "agent.json is valid (1 graph)\n");
}

#[test]
fn what_is_not_safe_is_left_and_reported() {
    let text = "{\n  // the agent\n  \"dependencies\": [\".\"],\n  \"graphs\": { \"agent\": \"./agnt.py:graph\", }\n}\n";
    let project = TestEnv::project().file("agent.json", text);
    let run = project.run("validate --fix");
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains("json-comment") && run.out.contains("did you mean `./agent.py`?"),
        "{}",
        run.out
    );
    let fixed = std::fs::read_to_string(project.path("agent.json")).unwrap();
    assert_eq!(fixed, text.replace("\", }", "\" }"));
}

/// A mistake without a fix, such as a missing quote, can make the rest of the file look wrong.
#[test]
fn a_text_that_is_not_understood_is_not_touched() {
    let text = "{\n  \"dependencies\": [\".],\n  'graphs': { \"agent\": \"./agent.py:graph\", },\n}\n";
    let project = TestEnv::project().file("agent.json", text);
    assert_eq!(project.run("validate --fix").code, 1);
    assert_eq!(std::fs::read_to_string(project.path("agent.json")).unwrap(), text);
}

#[test]
fn a_diff_changes_nothing_and_shows_no_secret() {
    let text = "{\n  \"dependencies\": [\".\"],\n  graphs: { \"agent\": \"./agent.py:graph\" },\n  \"env\": { \"K\": \"s3cret\" }\n}\n";
    let project = TestEnv::project().file("agent.json", text);
    let run = project.run("validate --diff");
    assert_eq!((run.code, run.err.as_str()), (1, "1 finding has a safe fix\n"));
    assert!(run.out.starts_with("--- agent.json\n+++ agent.json\n@@ "), "{}", run.out);
    assert!(run.out.contains("\n+  \"graphs\": {") && run.out.contains("\"******\""), "{}", run.out);
    assert!(!run.out.contains("s3cret"), "{}", run.out);
    assert_eq!(std::fs::read_to_string(project.path("agent.json")).unwrap(), text);
    assert_eq!(TestEnv::project().run("validate --diff").code, 0);
}

#[test]
fn json_has_the_edits_of_a_fix() {
    let text = "{\n  \"dependencies\": [\".\"],\n  \"graphs\": { \"ä\": \"./agent.py:graph\", }\n}\n";
    let project = TestEnv::project().file("agent.json", text);
    let report: serde_json::Value = serde_json::from_str(&project.run("validate --format json").out).unwrap();
    let edit = serde_json::json!({ "line": 3, "column": 38, "end_line": 3, "end_column": 39, "text": "" });
    assert_eq!(report["diagnostics"][0]["fix"], serde_json::json!({ "safe": true, "edits": [edit] }));
    let log: serde_json::Value = serde_json::from_str(&project.run("validate --format sarif").out).unwrap();
    let change = &log["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "agent.json");
    assert_eq!(change["replacements"][0]["deletedRegion"]["startColumn"], 38);
}

#[test]
fn stdin_is_checked_and_fixed_as_if_it_were_the_file() {
    let project =
        TestEnv::project().file("app/agent.py", "graph = object()\n").file("app/requirements.txt", "");
    let run = |arguments: &[&str], text: &str| {
        let mut command = Command::new(crate::harness::program());
        command.arg("validate").args(arguments).current_dir(project.path(""));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let wrong = "{ \"dependencies\": [\".\"], \"graphs\": { \"agent\": \"./agent.py:graph\", } }";
    let right = wrong.replace(", }", " }");
    let (code, out, _) = run(&["-"], wrong);
    assert!(code == Some(1) && out.contains("--> agent.json:1:"), "{out}");
    let (code, out, err) = run(&["--fix", "-", "--stdin-filename", "app/langgraph.json"], wrong);
    assert_eq!((code, out), (Some(0), right.clone()));
    assert!(err.contains("app/langgraph.json is valid"), "{err}");
    assert!(!project.path("app/langgraph.json").exists());
    let (code, _, err) = run(&["-", "--stdin-filename", "nowhere/agent.json"], &right);
    assert!(code == Some(1) && !err.contains("panicked"), "{err}");
}
