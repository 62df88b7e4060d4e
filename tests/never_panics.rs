//! For any text: no panic, places inside the text, and no control characters in a report.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agentcli::cli::report::text::{self, Layout};
use agentcli::cli::report::{github, gitlab, json, junit, sarif};
use agentcli::compiler::agent_lock::AgentLock;
use agentcli::compiler::analyze;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::front::schema;
use agentcli::compiler::front::source::Source;
use agentcli::compiler::tree::Tree;
use agentcli::diagnostic::Diagnostic;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use crate::harness::random_cases;

/// Configurations to break. Together they have every key of the schema.
const SEEDS: &[&str] = &[
    include_str!("../fixtures/valid/every-key/agent.json"),
    r#"{"dependencies": [".", "langchain>=0.3"], "graphs": {"agent": "./agent.py:graph"}}"#,
    r#"{"graphs": {"a": {"path": "./a.ts:x", "description": "日本語 \u00e9\ud83d\ude00"}}, "node_version": 20}"#,
];

/// A configuration that makes the checks read each of [`FILES`].
const PROJECT: &str = r#"{
  "dependencies": [".", "./app", "./lib"],
  "graphs": { "py": "./agent.py:graph", "ts": "./agent.ts:graph", "cjs": "./agent.cjs:graph" },
  "http": { "cors": {} },
  "env": ".env"
}"#;

/// A small project without mistakes.
const FILES: &[(&str, &str)] = &[
    (".dockerignore", "docs\n**/*.log\n!docs/[a-z]?.md\n"),
    (".env", "A=1\nexport B='x # y' # comment\nC=\"${A}\\n\"\n"),
    (".gitignore", "*.log\n!/docs/**/[a-z]?.md\n"),
    ("agent.cjs", "const graph = {};\nmodule.exports = { graph };\nexports.other = graph;\n"),
    ("agent.py", "from app import x as y\n\n\n@y\ndef make(): ...\n\n\ngraph: object = make()\n"),
    (
        "agent.ts",
        "import { x } from './x';\nimport { y } from '@/x';\nexport const graph: object = x`a${y(1)}`;\nexport default graph;\n",
    ),
    ("x.ts", "export const x = String.raw;\nexport const y = Number;\n"),
    (
        "tsconfig.json",
        "{\n  // names\n  \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@/*\": [\"./*\"], }, /* more */ },\n}\n",
    ),
    (
        "app/pyproject.toml",
        "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n\n[project]\nname = 'app'\n\
         version = '1'\ndependencies = ['httpx[http2]>=0.27,<1; python_version > \"3.8\"']\n\n\
         [tool.hatch.build.targets.wheel]\nbypass-selection = true\n",
    ),
    (
        "app/uv.lock",
        "version = 1\nrequires-python = '>=3.11'\n\n[[package]]\nname = 'app'\nsource = { editable = '.' }\n\
         dependencies = [{ name = 'httpx', marker = \"os_name == 'posix' and sys_platform != 'win32'\" }]\n\n\
         [package.metadata]\nrequires-dist = [{ name = 'httpx', extras = ['http2'], specifier = '>=0.27,<1' }]\n\n\
         [[package]]\nname = 'httpx'\nversion = '0.27'\nsource = { registry = 'https://pypi.org/simple' }\n\
         wheels = [{ url = 'https://x.example/httpx-0.27-py3-none-any.whl', hash = 'sha256:0a' }]\n",
    ),
    (
        "lib/setup.cfg",
        "[metadata]\nname = lib\n[options]\ninstall_requires =\n  httpx\n  a @ https://a.example/a.whl\n",
    ),
    (
        "lib/setup.py",
        "from setuptools import setup\n\nsetup(name='lib', install_requires=['httpx'] + [\"x\"])\n",
    ),
    (
        "package.json",
        r#"{"name": "x", "dependencies": {"@langchain/langgraph": "^1"}, "scripts": {"build": "tsc"}, "workspaces": []}"#,
    ),
    ("pnpm-lock.yaml", "packages:\n  '@langchain/langgraph@1.4.12':\n    resolution: {integrity: x}\n"),
    ("pnpm-workspace.yaml", "packages:\n  - 'libs/*'\n  - '!libs/old'\noverrides: { a: 'file:./a' }\n"),
    (
        "requirements.txt",
        "# all\n-r requirements.txt\nhttpx >= 0.2 \\\n  ; os_name == 'nt' --hash=sha256:0a\n-e ./lib\n",
    ),
];

/// A lock of images.
const LOCK: &str = r#"version = 1

[server]
name = "pg"
version = "0.16.7"

[[image]]
name = "redis:6"
digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

[image.platforms]
"linux/amd64" = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
"#;

/// The project of [`PROJECT`] and [`FILES`], with `text` as the file at `path`.
fn project(path: &str, text: &str) -> Vec<Diagnostic> {
    let mut files: BTreeMap<&str, &str> = FILES.iter().copied().collect();
    files.insert(path, text);
    analyze("agent.json", PROJECT, &Tree::new(MemoryFiles::new(files))).diagnostics
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let files = Tree::new(MemoryFiles::new([("agent.py", "graph = object()"), ("requirements.txt", "")]));
    let (checked, _) = analyze("agent.json", text, &files).located(Source::new("agent.json", text));
    for finding in &checked.findings {
        let span = &finding.span;
        prop_assert!(span.start <= span.end && text.get(span.clone()).is_some(), "{finding:?}");
    }
    let checked = [checked];
    for width in [0, 60, 100] {
        let output = text::render(&checked, Layout { is_coloured: false, width, is_brief: false });
        prop_assert!(!output.chars().any(|c| c != '\n' && c.is_control()), "{output:?}");
    }
    for output in [json::render(&checked), sarif::render(&checked), gitlab::render(&checked)] {
        prop_assert!(serde_json::from_str::<Value>(&output).is_ok(), "{output}");
    }
    let output = junit::render(&checked, false);
    prop_assert!(roxmltree::Document::parse(&output).is_ok(), "{output}");
    let output = github::render(&checked);
    prop_assert_eq!(output.lines().count(), checked[0].findings.len());
    Ok(())
}

/// Tokens of JSON and of terminals' escape sequences.
const TOKENS: &[&str] = &[
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

/// Tokens of the languages and formats of [`FILES`].
const OTHER_TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "=",
    "==",
    "~=",
    "!",
    "@",
    "*",
    "**",
    "?",
    "^",
    "$",
    "${",
    "`",
    "'",
    "\"",
    "\"\"\"",
    "\\",
    "\\\n",
    "#",
    ";",
    ":",
    ",",
    ".",
    "..",
    "...",
    "/",
    "-",
    "--",
    "-r ",
    "-e ",
    "\n",
    "\n  ",
    "\r\n",
    "\t",
    "\0",
    "\u{feff}",
    "é",
    "😀",
    "export ",
    "default ",
    "import ",
    "from ",
    "as ",
    "type ",
    "const ",
    "exports",
    "module",
    "def ",
    "class ",
    "async ",
    "lambda ",
    "if ",
    "with ",
    "del ",
    "global ",
    "match ",
    "case ",
    "for ",
    "in ",
    "=>",
    ":=",
    "f'",
    "graph",
    "setup",
    "[project]",
    "[[x]]",
    "and ",
    "or ",
    "python_version",
    "https://",
    "1",
    "0.1rc1",
    "file:",
];

fn token(tokens: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![4 => select(tokens).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

/// Places, lengths and replacements for [`changed`].
fn changes(tokens: &'static [&'static str]) -> impl Strategy<Value = Vec<(Index, usize, String)>> {
    prop::collection::vec((any::<Index>(), 0..12usize, token(tokens)), 1..6)
}

/// `text` with a few parts cut out or replaced.
fn changed(text: &str, changes: Vec<(Index, usize, String)>) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (at, length, replacement) in changes {
        let at = at.index(letters.len() + 1);
        let end = (at + length).min(letters.len());
        letters.splice(at..end, replacement.chars());
    }
    letters.into_iter().collect()
}

/// A configuration with some values replaced: types and shapes are wrong, but the syntax is right.
fn wrongly_typed() -> impl Strategy<Value = String> {
    let value =
        select(vec!["3", "-1", "0.5", "null", "true", "\"\"", "\"x\"", "[]", "[3]", "{}", "{\"x\": 1}"]);
    let seeds: Vec<Value> = SEEDS.iter().map(|seed| serde_json::from_str(seed).unwrap()).collect();
    (select(seeds), prop::collection::vec((any::<Index>(), value), 1..4)).prop_map(|(mut seed, changes)| {
        for (at, value) in changes {
            let all = pointers(&seed);
            let target = seed.pointer_mut(&all[at.index(all.len())]).unwrap();
            *target = serde_json::from_str(value).unwrap();
        }
        serde_json::to_string_pretty(&seed).unwrap()
    })
}

/// The JSON pointers of every value in `value`.
fn pointers(value: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| -> Vec<String> {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers(value).into_iter().map(|rest| format!("/{key}{rest}")).collect()
    };
    let mut all = vec![String::new()];
    match value {
        Value::Array(items) => {
            all.extend(items.iter().enumerate().flat_map(|(index, item)| below(index.to_string(), item)));
        }
        Value::Object(members) => {
            all.extend(members.iter().flat_map(|(key, item)| below(key.clone(), item)));
        }
        _ => {}
    }
    all
}

proptest! {
    #![proptest_config(random_cases(250))]

    #[test]
    fn arbitrary_text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn tokens_in_any_order(tokens in prop::collection::vec(token(TOKENS), 0..60)) {
        check(&tokens.concat())?;
    }

    #[test]
    fn configurations_with_wrong_syntax(seed in select(SEEDS), changes in changes(TOKENS)) {
        check(&changed(seed, changes))?;
    }

    #[test]
    fn configurations_with_wrong_types(text in wrongly_typed()) {
        check(&text)?;
    }

    #[test]
    fn other_files_with_wrong_syntax((path, text) in select(FILES), changes in changes(OTHER_TOKENS)) {
        for finding in project(path, &changed(text, changes)) {
            for related in finding.related {
                prop_assert!(related.text.get(related.range.clone()).is_some(), "{related:?}");
            }
        }
    }

    /// Nor is anything accepted that is written in another way than it is read.
    #[test]
    fn locks_of_images(changes in changes(OTHER_TOKENS)) {
        let text = changed(LOCK, changes);
        match AgentLock::parse(&text) {
            Ok(lock) => prop_assert_eq!(AgentLock::parse(&lock.write()), Ok(lock)),
            Err(broken) => prop_assert!(text.get(broken.span.clone()).is_some(), "{broken:?}"),
        }
    }

    #[test]
    fn other_files_of_tokens(
        path in select(FILES).prop_map(|(path, _)| path),
        tokens in prop::collection::vec(token(OTHER_TOKENS), 0..60),
    ) {
        project(path, &tokens.concat());
    }
}

#[test]
fn files_of_the_project_are_without_mistakes() {
    let codes: Vec<&str> = project("none", "").iter().map(|finding| finding.rule.code).collect();
    assert!(codes.is_empty(), "{codes:?}");
}

/// Parsers that recurse would overflow the stack.
#[test]
fn deeply_nested_files_are_read() {
    for opening in
        ["(", "[", "{", "{\"a\":", "[a", "-", "!", "a=>", "a?", "not ", "lambda:", "if a:\n ", "`${", "f'{"]
    {
        let nested = opening.repeat(10_000);
        for (path, _) in FILES {
            project(path, &nested);
            project(path, &format!("graph = {nested}"));
        }
        check(&nested).unwrap();
    }
}

#[test]
fn patterns_that_are_too_complex_match_nothing() {
    let pattern = format!("*{}a{}", "{".repeat(300), "}".repeat(300));
    project("package.json", &format!(r#"{{"workspaces": ["{pattern}"]}}"#));
    project("pnpm-workspace.yaml", &format!("packages: ['{pattern}']"));
    let workspace = format!("[tool.uv.workspace]\nmembers = ['{pattern}']\nexclude = ['{pattern}']");
    project("app/pyproject.toml", &format!("[project]\nname = 'app'\nversion = '1'\n{workspace}"));
}

/// Each directory of a pattern would be a pattern of its own, which takes minutes.
#[test]
fn patterns_of_many_directories_are_read() {
    let start = Instant::now();
    project("package.json", &format!(r#"{{"workspaces": ["{}"]}}"#, "a*/".repeat(3_000)));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn seeds_have_every_key() {
    let seed: Value = serde_json::from_str(SEEDS[0]).unwrap();
    let keys = schema::schema()["properties"].as_object().unwrap().keys();
    // With these, others have no effect.
    let excluding = ["source", "_INTERNAL_docker_tag"];
    for key in keys.filter(|key| !excluding.contains(&key.as_str())) {
        assert!(seed.get(key).is_some(), "fixtures/valid/every-key lacks `{key}`");
    }
}
