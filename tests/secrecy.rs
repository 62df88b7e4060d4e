//! Values of `env` are shown nowhere, whatever one character does to the configuration.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use agentcli::cli::check::check_content;
use agentcli::cli::fix::Fixed;
use agentcli::cli::report::text::{self, Layout};
use agentcli::cli::report::{github, gitlab, json, junit, sarif};
use agentcli::compiler::finding::Checked;
use agentcli::lsp;
use serde_json::{Value, json};

use crate::harness::{PATIENCE, TestEnv, is_long, seed};

/// Configurations of different styles. Each secret contains one of [`MARKS`] so often that one edit leaves one whole.
const CONFIGURATIONS: &[&str] = &[
    // Compact, and `env` is the last member.
    r#"{"dependencies":["."],"graphs":{"agent":"./agent.py:graph"},"env":{"A":"sekritsekrit","B":"sekritsekrit"}}"#,
    // One per line, and `env` is the first member.
    "{\n  \"env\": {\n    \"A\": \"sekritsekrit\",\n    \"B\": \"sekritsekrit\"\n  },\n  \"dependencies\": [\".\"],\n  \
     \"graphs\": { \"agent\": \"./agent.py:graph\" }\n}\n",
    // In between, with other values than strings.
    "{ \"python_version\": \"3.12\",\n  \"env\": { \"A\": 7351735173517351, \"B\": [\"sekritsekrit\", { \"C\": \"sekritsekrit\" }], \
     \"D\": true },\n  \"graphs\": { \"agent\": \"./agent.py:graph\" }, \"dependencies\": [\".\"] }",
    // Inside of other objects.
    r#"{"graphs": {"agent": {"path": "./agent.py:graph", "env": {"A": "sekritsekrit"}}}, "http": {"env": {"B": "sekritsekrit"}, "cors": {}}}"#,
    // Names with escapes.
    r#"{"\u0065nv": {"A": "sekritsekrit"}, "dependencies": ["."], "e\u006Ev": {"\u0042": "sekritsekrit"}, "\u0065\u006e\u0076": {"C": "\u0020sekritsekrit"}}"#,
    // Duplicate keys.
    r#"{"env": {"A": "sekritsekrit", "A": "sekritsekrit"}, "dependencies": ["."], "env": {"B": "sekritsekrit"}}"#,
    // Comments, trailing commas and other quotes.
    "{\n  // the project's \"env\": { \"A\": \"sekritsekrit\" }\n  'env': { 'A': 'sekritsekrit', }, # more\n  \
     \"dependencies\": [\".\",], /* \"env\" */\n}",
    // Other spellings.
    r#"{"Environment": {"A": "sekritsekrit"}, "env_vars": [{"name": "B", "value": "sekritsekrit"}], "graphs": {"a": "./a.py:g"}}"#,
    // Values that look like parts of JSON.
    r#"{"graphs": {"agent": "./agent.py:graph"}, "env": {"A": "{\"sekritsekrit\": ", "B": "sekritsekrit\\", "C": "a:b,c]}sekritsekrit"}}"#,
];

/// Parts of the secrets.
const MARKS: &[&str] = &["sekrit", "73517351"];

/// Characters to insert.
const INSERTED: &str = "\"'{}[]():,;=+-\\/#*.0aunx \n\t“é";

/// Characters to put in place of another.
const REPLACEMENTS: &str = "\"'{}:,\\\n ";

/// `text` with each character removed, and with one inserted or replaced at each place.
fn edited(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([text.to_owned()]);
    for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
        let (before, after) = text.split_at(at);
        let mut rest = after.chars();
        all.extend(INSERTED.chars().map(|c| format!("{before}{c}{after}")));
        if rest.next().is_some() {
            all.insert(format!("{before}{}", rest.as_str()));
            all.extend(REPLACEMENTS.chars().map(|c| format!("{before}{c}{}", rest.as_str())));
        }
    }
    all
}

fn assert_hidden(shown: &str, text: &str) {
    let mark = MARKS.iter().find(|mark| shown.contains(**mark));
    assert!(mark.is_none(), "{shown}\n--- shows {mark:?} of\n{text}");
}

/// What each report format says about `checked`.
fn reports(checked: Checked) -> String {
    let layout = Layout { is_coloured: false, width: 100, is_brief: false };
    let all = [checked];
    [
        text::render(&all, layout),
        json::render(&all),
        sarif::render(&all),
        gitlab::render(&all),
        github::render(&all),
        junit::render(&all, false),
    ]
    .concat()
}

/// Without `--long`, one of so many edits is tried, beginning with any of them. They are sorted by place, so that each run
/// tries some at every place.
const SHARE: usize = 7;

#[test]
fn no_edit_shows_a_value_of_env_in_a_report_or_a_diff() {
    let project = TestEnv::project();
    let directory = &project.path(".");
    let path = Path::new("agent.json");
    let share = if is_long() { 1 } else { SHARE };
    let all = CONFIGURATIONS.iter().flat_map(|text| edited(text));
    let all: Vec<String> = all.skip(seed() as usize % share).step_by(share).collect();
    thread::scope(|scope| {
        for texts in all.chunks(all.len().div_ceil(4)) {
            scope.spawn(move || {
                for text in texts {
                    let check =
                        || check_content(directory, path, Default::default(), text.clone().into_bytes());
                    assert_hidden(&reports(check()), text);
                    let fixed = Fixed::new(check(), Default::default(), directory, path);
                    assert_hidden(&fixed.diff(), text);
                    assert_hidden(&reports(fixed.into_now()), text);
                }
            });
        }
    });
}

/// The deletions and some insertions, which the commands and the language server see.
fn samples() -> impl Iterator<Item = String> {
    CONFIGURATIONS.iter().flat_map(|text| {
        let places = (0..text.len()).filter(|&at| text.is_char_boundary(at) && text.is_char_boundary(at + 1));
        places.map(|at| {
            let inserted = ["", "\"", "}", "{", "\\", "\n", ":"][at % 7];
            let end = at + usize::from(inserted.is_empty());
            format!("{}{inserted}{}", &text[..at], &text[end..])
        })
    })
}

#[test]
fn no_command_shows_a_value_of_env() {
    let mut env = TestEnv::project();
    for text in samples().step_by(3) {
        env = env.file("agent.json", &text);
        for command in [
            "validate -v",
            "validate --diff",
            "plan -v",
            "dockerfile - -v",
            "compose - -v",
            "manifests --name agent --image registry.example/agent:1 - -v",
            "deploy list -v",
        ] {
            let run = env.run(command);
            // A valid setup has the values, which are meant to be there.
            if command != "compose - -v" || run.code != 0 {
                assert_hidden(&format!("{}{}", run.out, run.err), &text);
            }
        }
    }
}

/// An editor that sends `first`, waits for the findings of all documents, and then sends `last`.
struct Editor {
    first: Cursor<String>,
    last: Cursor<String>,
    documents: usize,
    published: Arc<AtomicUsize>,
}

impl Read for Editor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.first.read(bytes)?;
        if count > 0 {
            return Ok(count);
        }
        let start = Instant::now();
        while self.published.load(Ordering::Relaxed) < self.documents && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        self.last.read(bytes)
    }
}

/// A message of an editor.
fn message(body: &Value) -> String {
    let body = body.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn the_language_server_shows_no_value_of_env() {
    let project = TestEnv::project();
    let mut input = message(&json!({
        "jsonrpc": "2.0", "id": "start", "method": "initialize", "params": {"capabilities": {}},
    }));
    let all: Vec<String> = samples().collect();
    for (index, text) in all.iter().enumerate() {
        let path = project.path(&format!("{index}/agent.json"));
        let document = json!({"uri": format!("file://{}", path.display())});
        let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let opened = json!({"uri": document["uri"], "languageId": "json", "version": 1, "text": text});
        let opened =
            json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": opened}});
        input += &message(&opened);
        for (method, more) in [
            ("codeAction", json!({"range": whole, "context": {"diagnostics": []}})),
            ("documentSymbol", json!({})),
            ("hover", json!({"position": {"line": 0, "character": 70}})),
            ("hover", json!({"position": {"line": 2, "character": 7}})),
            ("completion", json!({"position": {"line": 0, "character": 70}})),
            ("completion", json!({"position": {"line": 2, "character": 7}})),
        ] {
            let mut params = more;
            params["textDocument"] = document.clone();
            let method = format!("textDocument/{method}");
            input += &message(&json!({"jsonrpc": "2.0", "id": index, "method": method, "params": params}));
        }
    }
    let mut last = message(&json!({"jsonrpc": "2.0", "id": "end", "method": "shutdown"}));
    last += &message(&json!({"jsonrpc": "2.0", "method": "exit"}));
    let published = Arc::new(AtomicUsize::new(0));
    let (first, last) = (Cursor::new(input), Cursor::new(last));
    let editor = Editor { first, last, documents: all.len(), published: published.clone() };
    let mut answered = 0;
    let mut send = |text: &str| {
        published.fetch_add(usize::from(text.contains("publishDiagnostics")), Ordering::Relaxed);
        answered += usize::from(text.contains("\"result\""));
        assert_hidden(text, "a message");
        Ok(())
    };
    lsp::serve(editor, &mut send).unwrap();
    let published = published.load(Ordering::Relaxed);
    assert!(published >= all.len() && answered > 6 * all.len(), "{published} {answered} {}", all.len());
}

/// The report about `text`, a configuration of the usual project.
fn report(text: &str) -> String {
    TestEnv::project().file("agent.json", text).run("validate").out
}

#[test]
fn lines_without_doubt_are_shown() {
    let line = r#""graphs": { "agent": "./missing.py:graph" }"#;
    let secret = r#""env": { "A": "sekritsekrit" }"#;
    for (text, shown) in [
        // Without a syntax error, all but the values.
        (
            format!("{{ {secret}, {line}, \"dependencies\": [\".\"] }}"),
            vec![line, r#""env": { "A": "************" }"#],
        ),
        // Of a syntax error before `env`.
        (
            format!("{{ {line},\n \"python_version\": 3.12.1,\n {secret} }}"),
            vec![line, r#""python_version": 3.12.1"#],
        ),
        (format!("{{ {line},\n \"dependencies\" [\".\"],\n {secret} }}"), vec![r#""dependencies" ["."]"#]),
        // And after it, where the brackets match.
        (
            format!("{{ {secret},\n {line},\n \"dependencies\" [\".\"] }}"),
            vec![line, r#""dependencies" ["."]"#],
        ),
        // The path of a file is no secret.
        (
            format!("{{ \"env\": \".env\",\n {line},\n \"dependencies\": [\".\" }}"),
            vec![r#""dependencies": ["." }"#],
        ),
    ] {
        let report = report(&text);
        assert_hidden(&report, &text);
        for shown in shown {
            assert!(report.contains(shown), "{shown}\n{report}");
        }
    }
}

/// A file of another format has no `env`, and may be all secrets.
#[test]
fn values_of_other_formats_are_hidden() {
    for text in [
        "A=sekritsekrit",
        "# mine: sekrit\n\nA=sekritsekrit\nB='sekritsekrit'\n",
        "env:\n  A: sekritsekrit\n",
    ] {
        assert_hidden(&report(text), text);
    }
}
