//! Configurations of real projects, in the directory that AGENTCLI_CORPUS names, each with a stub for every file that it
//! names: all compile, except those listed here with the reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agentcli::compiler::back::emit::dockerfile::dockerfile;
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze};
use agentcli::project::DiskFiles;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::outside;
use crate::output::properties;

/// The configurations with errors: their codes, and why they are right.
const REFUSED: &[(&str, &[&str], &str)] = &[
    (
        "langchain-ai__langgraph__8",
        &["lock-not-found"],
        "the workspace of its `source` is not part of the corpus",
    ),
    (
        "langchain-ai__langgraphjs__8",
        &["wrong-type"],
        "`env` as a list of names has no values; the specification allows a file or a mapping",
    ),
];

/// The configurations with warnings: their codes, and why they are right.
const WARNED: &[(&str, &[&str], &str)] = &[
    (
        "1Khizar__MediMind-AI__0",
        &["cors-any-origin-with-credentials"],
        "browsers reject credentials if any origin is allowed",
    ),
    ("CopilotKit__CopilotKit__2", &["unknown-key"], "nothing reads `package_manager`"),
    (
        "CopilotKit__CopilotKit__4",
        &["redundant-dependency"],
        "`pyproject.toml` is found without being listed: its directory is listed, too",
    ),
];

/// Collects every string in `value`.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => members.values().for_each(|member| strings(member, found)),
        _ => {}
    }
}

/// Splits a reference into its file and the name in it.
fn reference(text: &str) -> Option<(String, &str)> {
    let (file, name) = text.rsplit_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_file = [".py", ".ts", ".tsx", ".js", ".mts", ".mjs"].iter().any(|ending| file.ends_with(ending));
    let is_module = !file.contains('/') && !is_file && !name.starts_with(|c: char| c.is_ascii_digit());
    match (is_name, is_file, is_module) {
        (true, true, _) => Some((file.to_owned(), name)),
        (true, _, true) => Some((file.replace('.', "/") + ".py", name)),
        _ => None,
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a stub for every file that `config` names, relative to the directory `at`.
fn stubs(config: &Value, at: &Path) {
    let mut texts = Vec::new();
    strings(config, &mut texts);
    let mut sources: BTreeMap<PathBuf, String> = BTreeMap::new();
    for (file, name) in texts.iter().filter_map(|text| reference(text)) {
        let text = if file.ends_with(".py") {
            format!("{name} = object()\n")
        } else {
            format!("export const {name} = {{}};\n")
        };
        sources.entry(at.join(file)).or_default().push_str(&text);
    }
    let has_python = sources.keys().any(|file| file.extension().is_some_and(|it| it == "py"));
    let has_javascript = sources.keys().any(|file| file.extension().is_some_and(|it| it != "py"));
    sources.iter().for_each(|(file, text)| write(file, text));
    if has_javascript {
        write(&at.join("package.json"), "{}\n");
    }
    let entries = config["dependencies"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let local = entries.filter(|entry| entry.starts_with('.') || entry.contains('/'));
    for (index, entry) in local.enumerate().filter(|_| has_python) {
        write(
            &at.join(entry).join("pyproject.toml"),
            &format!("[project]\nname = 'stub-{index}'\nversion = '1'\n"),
        );
    }
    for key in ["env", "pip_config_file"] {
        if let Some(file) = config[key].as_str() {
            write(&at.join(file), "");
        }
    }
}

fn listed<'a>(table: &'a [(&str, &'a [&'a str], &str)], name: &str) -> &'a [&'a str] {
    table.iter().find(|(file, _, _)| *file == name).map_or(&[], |(_, codes, _)| codes)
}

#[test]
fn real_configurations_compile() {
    let files = fs::read_dir(outside("AGENTCLI_CORPUS")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    assert!(files.len() >= 59, "only {} files", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(file).unwrap();
        let temporary = TempDir::new().unwrap();
        let directory = temporary.path().join("one/two/three");
        fs::create_dir(temporary.path().join(".git")).unwrap();
        stubs(&serde_json::from_str(&text).unwrap(), &directory);
        let tree = Tree::new(DiskFiles::new(&directory));
        let analysis = analyze("agent.json", &text, &tree);
        let (errors, warnings): (Vec<_>, Vec<_>) = analysis.diagnostics.iter().partition(|it| it.is_error());
        let codes = |list: &[&agentcli::diagnostic::Diagnostic]| {
            list.iter().map(|it| it.rule.code).collect::<Vec<_>>()
        };
        if codes(&errors) != listed(REFUSED, name) || codes(&warnings) != listed(WARNED, name) {
            let all: Vec<_> = analysis.diagnostics.iter().map(|it| (it.rule.code, &it.message)).collect();
            wrong.push(format!("{name}: {all:?}"));
        }
        if analysis.is_usable() {
            let plan = lower(&analysis.config, &tree, "langgraph.json", &Options::default());
            let own = plan.image.lines.len();
            assert!(dockerfile(&plan).lines().count() <= 60 + own, "{name}");
            wrong.extend(properties::check(&plan).err());
        }
    }
    let names: Vec<&str> = files.iter().filter_map(|file| file.file_stem()?.to_str()).collect();
    let unknown =
        REFUSED.iter().chain(WARNED).filter(|(name, _, why)| !names.contains(name) || why.is_empty());
    wrong.extend(unknown.map(|(name, _, _)| format!("{name} is listed, but not in the corpus")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
