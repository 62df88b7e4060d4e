//! Whatever the strings in a plan: the Dockerfile says exactly them. Two parsers read it, one that is not ours
//! (`parse-dockerfile`) for where instructions start and what kind they are, and BuildKit's rules in [`decode`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use agentcli::compiler::back::emit::dockerfile::{dockerfile, shell_word};
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::plan::{Install, Plan, Python};
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze};
use parse_dockerfile::Instruction;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::decode;
use super::goldens::{cases, config_of, load};
use crate::harness::random_cases;

/// Compares the facts of `plan` with what two parsers find in its Dockerfile.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    let text = dockerfile(plan);
    let fail = |error: String| format!("{error}\n{text}");
    let read = decode::instructions(&text).map_err(fail)?;
    let parsed = parse_dockerfile::parse(&text).map_err(|error| fail(error.to_string()))?;
    let keywords: Vec<&str> = parsed.instructions.iter().map(|it| keyword(it, &text)).collect();
    let ours: Vec<&str> = read.iter().map(|it| it.keyword.as_str()).collect();
    let directives = &parsed.parser_directives;
    if keywords != ours || directives.syntax.is_some() || directives.escape.is_some() {
        return Err(fail(format!("{keywords:?} against {ours:?}")));
    }
    for (instruction, read) in parsed.instructions.iter().zip(&read) {
        same_array(instruction, read, &text).map_err(fail)?;
    }
    let own = format!("FROM scratch\n{}\n", plan.image.lines.join("\n"));
    let own = decode::instructions(&own).map_err(fail)?.split_off(1);
    let at = (0..=read.len() - own.len()).find(|&at| read[at..].starts_with(&own));
    let at = at.ok_or_else(|| fail("the user's lines are lost".to_owned()))?;
    let ours: Vec<_> = read[..at].iter().chain(&read[at + own.len()..]).collect();
    settings(plan, &ours).and_then(|()| copies(plan, &ours)).and_then(|()| words(plan, &ours)).map_err(fail)
}

fn keyword<'a>(instruction: &Instruction<'_>, text: &'a str) -> &'a str {
    let span = match instruction {
        Instruction::Cmd(it) => &it.cmd.span,
        Instruction::Copy(it) => &it.copy.span,
        Instruction::Env(it) => &it.env.span,
        Instruction::Expose(it) => &it.expose.span,
        Instruction::From(it) => &it.from.span,
        Instruction::Healthcheck(it) => &it.healthcheck.span,
        Instruction::Label(it) => &it.label.span,
        Instruction::Run(it) => &it.run.span,
        Instruction::User(it) => &it.user.span,
        Instruction::Workdir(it) => &it.workdir.span,
        _ => return "another",
    };
    &text[span.clone()]
}

/// Where the other parser sees an array, it is the one that we see.
fn same_array(instruction: &Instruction<'_>, read: &decode::Instruction, text: &str) -> Result<(), String> {
    let Instruction::Run(run) = instruction else { return Ok(()) };
    let theirs = match &run.arguments {
        parse_dockerfile::Command::Exec(array) => decode::json(&text[array.span.clone()]),
        _ => None,
    };
    let is_same = theirs == decode::json(&read.rest) && run.here_docs.is_empty();
    if is_same { Ok(()) } else { Err(format!("{theirs:?} against {read:?}")) }
}

/// Every setting has its value, and each working directory is one of the plan's.
fn settings(plan: &Plan, read: &[&decode::Instruction]) -> Result<(), String> {
    let mut values = BTreeMap::new();
    for instruction in read.iter().filter(|it| it.keyword == "ENV") {
        values.extend(decode::environment(&instruction.rest)?);
    }
    for (name, value) in &plan.contract {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if values.get(name) != Some(&text) {
            return Err(format!("{name} is {:?}, and {text:?} in the plan", values.get(name)));
        }
    }
    let node = plan.image.node.as_ref();
    let install = node.and_then(|node| node.install.as_ref()).map(|it| &it.directory);
    let command = node.and_then(|node| node.install_command.as_ref()).map(|it| &it.directory);
    let known = [Some(&plan.image.root), Some(&plan.server.directory), install, command];
    for instruction in read.iter().filter(|it| it.keyword == "WORKDIR") {
        let directory = decode::expanded(&instruction.rest)?;
        if !known.contains(&Some(&directory)) {
            return Err(format!("{directory:?} is no directory of the plan"));
        }
    }
    Ok(())
}

/// Every manifest is copied to its place, and nothing else but the source and files of ours.
fn copies(plan: &Plan, read: &[&decode::Instruction]) -> Result<(), String> {
    let python = plan.image.python.iter().flat_map(|it| &it.manifests);
    let install = plan.image.node.iter().flat_map(|it| &it.install);
    let mut wanted: Vec<&str> =
        python.chain(install.flat_map(|it| &it.manifests)).map(String::as_str).collect();
    for instruction in read.iter().filter(|it| it.keyword == "COPY" && it.flags.is_empty()) {
        let (sources, target) = decode::copied(&instruction.rest)?;
        for source in &sources {
            let plain = source.trim_start_matches("./");
            let is_in_place = target.trim_end_matches('/') == agentcli::compiler::paths::parent(plain);
            if target.starts_with('/') || source == "." {
                continue;
            }
            let Some(at) = wanted.iter().position(|it| *it == plain && is_in_place) else {
                return Err(format!("{source:?} at {target:?} is in no plan"));
            };
            wanted.remove(at);
        }
    }
    if wanted.is_empty() { Ok(()) } else { Err(format!("{wanted:?} are not copied")) }
}

/// Every fact is a word of a command.
fn words(plan: &Plan, read: &[&decode::Instruction]) -> Result<(), String> {
    let runs: Vec<&str> = read.iter().filter(|it| it.keyword == "RUN").map(|it| it.rest.as_str()).collect();
    let Some(Python { placeholders, import_path, installs, late, .. }) = &plan.image.python else {
        return Ok(());
    };
    let of = |it: &Install| [&it.files[..], &it.packages, &it.requirements].concat();
    let installed = installs.iter().chain(late).flat_map(of);
    for fact in placeholders.iter().chain(import_path).cloned().chain(installed) {
        // Without a directory before it, it would be an option.
        let start = if fact.starts_with('-') { "./" } else { "" };
        let word = format!(" {}", shell_word(&format!("{start}{fact}")));
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(' ');
        if !runs.iter().any(|run| run.split(&word).skip(1).any(ends)) {
            return Err(format!("{fact:?} is no word of a command"));
        }
    }
    Ok(())
}

/// What breaks files, one way or the other.
const NASTY: &[&str] = &[
    "'",
    "\"",
    "\\",
    "\\\\",
    "$HOME",
    "${PATH}",
    "$",
    "$$",
    "${{ env.X }}",
    "<<EOF",
    "<<-'E'",
    "1<<E",
    "<",
    ">",
    "#",
    "# ",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\\\n",
    "\n# ",
    "&&",
    " && ",
    ";",
    "|",
    "`",
    "*",
    "?",
    "[",
    "]",
    "[]",
    "[\"a\"]",
    "{",
    "}",
    "{{ config.name }}",
    "{% raw %}",
    "(",
    ")",
    "!",
    "~",
    "--",
    "--mount=type=x",
    "-",
    "=",
    "A=b",
    "%",
    "^",
    ",",
    "a",
    "b c",
    "RUN",
    "\nRUN evil\n",
    "/",
    "..",
    "./",
    "ü",
    "日本",
    "🙂",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "\u{feff}",
    "\u{0}",
    "\u{7f}",
    "\u{1b}[31m",
];

pub(crate) fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(NASTY).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z0-9_.-]{1,12}",
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn printable() -> impl Strategy<Value = String> {
    nasty().prop_map(|text| text.chars().filter(|c| !c.is_control()).collect())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![nasty().prop_map(Value::from), any::<i64>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            hash_map(nasty(), inner, 0..3).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    // A text of several lines cannot be the value of ENV, only part of a JSON value; the compiler makes none.
    .prop_filter("one line", |value| !value.as_str().is_some_and(|text| text.contains('\n')))
}

/// A configuration with anything in every place whose text reaches the Dockerfile.
fn config() -> impl Strategy<Value = (Value, String, String)> {
    let requirement = prop_oneof![
        3 => Just("a[b] ; python_version > '3' and os_name != \"nt\"".to_owned()),
        3 => "[a-z]{1,5} @ (git\\+)?https://h/[a-z#$&=?%!']{0,9}",
        3 => "[a-z]{2,5} ?[<>=!]=[0-9]{1,3}(,<9)?",
        1 => nasty(),
    ];
    let or_none = |strategy: BoxedStrategy<String>| prop::option::weighted(0.3, strategy);
    let version = prop_oneof![9 => Just("22".to_owned()), 1 => nasty()].boxed();
    let image = "([a-z]{1,5}(:[0-9]{2,4})?/)?[a-z]{1,4}([._-][a-z0-9]{1,3})?(:[A-Za-z0-9_.-]{1,5})?(@sha256:[0-9a-f]{64})?".boxed();
    let api = prop_oneof![9 => Just("0.8".to_owned()), 1 => nasty()].boxed();
    let parts =
        (vec(requirement, 0..3), nasty(), printable(), or_none(image), or_none(api), or_none(version));
    let more = (or_none(printable().boxed()), value(), or_none(nasty().boxed()));
    (parts, more).prop_map(|((packages, text, directory, base_image, api, node), (pip, any, env))| {
        let directory = directory.replace(['/', '\\', ':'], "_") + "d";
        let entries = [format!("./{directory}")].into_iter().chain(packages).collect::<Vec<_>>();
        let mut config = json!({
            "dependencies": entries,
            "graphs": { "agent": { "path": format!("./{directory}/agent.py:graph"), "description": text } },
            "http": { "mount_prefix": "/x", "cors": { "allow_origin_regex": text } },
            "auth": { "path": format!("./{directory}/agent.py:graph"), "openapi": { "paths": { text.clone(): {"x": any} } } },
        });
        for (key, value) in [("base_image", base_image), ("api_version", api), ("node_version", node), ("env", env)] {
            config.as_object_mut().unwrap().extend(value.map(|value| (key.to_owned(), json!(value))));
        }
        let pip = pip.map(|name| name.replace(['/', '\\'], "_") + ".conf");
        config.as_object_mut().unwrap().extend(pip.clone().map(|value| ("pip_config_file".to_owned(), json!(value))));
        (config, directory, pip.unwrap_or_else(|| "pip.conf".to_owned()))
    })
}

proptest! {
    #![proptest_config(random_cases(150))]

    /// A project of arbitrary file names: what is copied and what only has to exist.
    #[test]
    fn every_file_name_is_read_back(names in vec(printable(), 1..5)) {
        let mut tree = vec![
            ("pyproject.toml".to_owned(), "[project]\nname = 'p'\nversion = '1'\ndependencies = ['a>1']"),
            ("agent.py".to_owned(), "graph = object()"),
        ];
        tree.extend(names.iter().map(|name| (format!("{name}/{name}.py"), "")));
        let files = Tree::new(MemoryFiles::new(tree.iter().map(|(name, text)| (name.as_str(), *text))));
        let text = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}"#;
        let analysis = analyze("agent.json", text, &files);
        prop_assert!(analysis.is_usable(), "{:?}", analysis.diagnostics);
        let plan = lower(&analysis.config, &files, "agent.json", &Options::default());
        prop_assert_eq!(check(&plan), Ok(()));
    }
}

/// What the checks let through, no part of the compiler breaks.
#[test]
fn every_accepted_configuration_is_read_back() {
    let accepted = Cell::new(0);
    let refused = RefCell::new(BTreeMap::new());
    let config_of_cases = random_cases(150);
    let cases = config_of_cases.cases;
    let look = |(config, directory, pip): (Value, String, String)| {
        let files = [("agent.py", "graph = object()"), ("requirements.txt", "x")];
        let files: Vec<(String, &str)> =
            files.map(|(name, text)| (format!("{directory}/{name}"), text)).into();
        let files = files.iter().map(|(name, text)| (name.as_str(), *text)).chain([(pip.as_str(), "")]);
        let files = Tree::new(MemoryFiles::new(files));
        let analysis = analyze("agent.json", &config.to_string(), &files);
        if analysis.is_usable() {
            accepted.set(accepted.get() + 1);
            let plan = lower(&analysis.config, &files, "agent.json", &Options::default());
            prop_assert_eq!(check(&plan), Ok(()), "{}", config);
        }
        for found in analysis.diagnostics.iter().filter(|it| it.is_error()) {
            *refused.borrow_mut().entry(found.rule.code).or_insert(0) += 1;
        }
        Ok(())
    };
    TestRunner::new(config_of_cases).run(&config(), look).unwrap();
    assert!(accepted.get() > cases / 3, "only {} of {cases} were accepted: {refused:?}", accepted.get());
}

#[test]
fn every_valid_project_is_read_back() {
    for case in cases() {
        let (project, analysis) = load(&case, &config_of(&case));
        check(&lower(&analysis.config, &project.files, "agent.json", &Options::default())).unwrap();
    }
}
