//! Whatever the strings in a plan: the Dockerfile says exactly them. Two parsers read it, one that is not ours
//! (`parse-dockerfile`) for where instructions start and what kind they are, and BuildKit's rules in [`decode`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use agentcli::compiler::back::emit::dockerfile::{dockerfile, dockerignore};
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::plan::{
    Action, Command, ConfigFile, Context, Env, Mount, Plan, Server, Step, Variant,
};
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::server;
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

/// Compares every step of `plan` with what two parsers find in its Dockerfile.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    let text = dockerfile(plan);
    let fail = |error: String| format!("{error}\n{text}");
    let read = decode::instructions(&text).map_err(fail)?;
    let parsed = parse_dockerfile::parse(&text).map_err(|error| fail(error.to_string()))?;
    let keywords: Vec<&str> = parsed.instructions.iter().map(|it| keyword(it, &text)).collect();
    let ours: Vec<&str> = read.iter().map(|it| it.keyword.as_str()).collect();
    if keywords != ours
        || parsed.parser_directives.syntax.is_some()
        || parsed.parser_directives.escape.is_some()
    {
        return Err(fail(format!("{keywords:?} against {ours:?}")));
    }
    for (instruction, read) in parsed.instructions.iter().zip(&read) {
        same_array(instruction, read, &text).map_err(fail)?;
    }
    let mut read = read.iter();
    for step in &plan.steps {
        if let Action::Lines { lines } = &step.action {
            let own = format!("FROM scratch\n{}\n", lines.join("\n"));
            let own = decode::instructions(&own).map_err(fail)?;
            for wanted in &own[1..] {
                if read.next() != Some(wanted) {
                    return Err(fail(format!("{wanted:?} is lost")));
                }
            }
            continue;
        }
        let instruction = read.next().ok_or_else(|| fail(format!("{step:?} is lost")))?;
        if instruction.keyword != word(&step.action) {
            return Err(fail(format!("{step:?} became {instruction:?}")));
        }
        decode::compare(step, instruction).map_err(|error| fail(format!("{error}\nin {instruction:?}")))?;
    }
    match read.next() {
        None => Ok(()),
        Some(more) => Err(fail(format!("{more:?} comes from nowhere"))),
    }
}

fn word(action: &Action) -> &'static str {
    match action {
        Action::Copy { .. } => "COPY",
        Action::Env { .. } => "ENV",
        Action::From { .. } => "FROM",
        Action::Lines { .. } => "",
        Action::Run { .. } => "RUN",
        Action::Workdir { .. } => "WORKDIR",
    }
}

fn keyword<'a>(instruction: &Instruction<'_>, text: &'a str) -> &'a str {
    let span = match instruction {
        Instruction::Copy(it) => &it.copy.span,
        Instruction::Env(it) => &it.env.span,
        Instruction::From(it) => &it.from.span,
        Instruction::Run(it) => &it.run.span,
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

fn some_nasty() -> impl Strategy<Value = String> {
    nasty().prop_filter("not empty", |text| !text.is_empty())
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

fn command() -> impl Strategy<Value = Command> {
    let words = (hash_map("[A-Z_]{1,8}", nasty(), 0..2), vec(some_nasty(), 1..40))
        .prop_map(|(variables, words)| Command::Words { variables: variables.into_iter().collect(), words });
    let write = vec(some_nasty(), 1..4)
        .prop_map(|lines| Command::Write { lines, file: server::PATH_FILE.to_owned() });
    prop_oneof![4 => words, 1 => write]
}

fn mounts() -> impl Strategy<Value = Vec<Mount>> {
    let bind = |from: &str, path: &str, is_writable| Mount::Bind {
        from: from.to_owned(),
        source: path.to_owned(),
        target: path.to_owned(),
        is_writable,
    };
    let (config, project) = (bind("pip", "/pip.conf", false), bind("skeletons", "/deps/app", true));
    let cache = Mount::Cache { target: "/root/.cache/uv".into() };
    prop::sample::subsequence(vec![cache, config, project], 0..=3)
}

fn action() -> impl Strategy<Value = Action> {
    let stage = prop::option::of(Just("source".to_owned()));
    let line = some_nasty().prop_map(|line| vec![Command::Shell(line)]);
    prop_oneof![
        (stage, vec(some_nasty(), 1..4), nasty()).prop_map(|(from, sources, target)| Action::Copy {
            from,
            sources,
            target: format!("/{target}/")
        }),
        hash_map("[A-Z_]{1,8}", value(), 1..4)
            .prop_map(|variables| Action::Env { variables: variables.into_iter().collect() }),
        Just(Action::From { image: "localhost:5000/a/b:1@sha256:0".into(), stage: None }),
        Just(Action::Lines { lines: vec!["RUN a \\".into(), "  && b".into(), "ENV A=\"b c\"".into()] }),
        (mounts(), vec(command(), 1..4)).prop_map(|(mounts, commands)| Action::Run { mounts, commands }),
        (mounts(), line).prop_map(|(mounts, commands)| Action::Run { mounts, commands }),
        printable().prop_map(|path| Action::Workdir { path: format!("/{path}") }),
    ]
}

fn plan(name: String, actions: Vec<Action>) -> Plan {
    let from = Action::From { image: "scratch".into(), stage: None };
    let steps = [from].into_iter().chain(actions);
    let steps = steps.map(|action| Step { why: "a reason".into(), key: String::new(), action }).collect();
    let server = Server {
        product: Default::default(),
        variant: Variant::Python,
        image: "scratch".into(),
        python: None,
        node: None,
        port: 1,
        healthcheck: Vec::new(),
        files: None,
        directory: "/".into(),
    };
    let context = Context {
        root: ".".into(),
        project: ".".into(),
        include: Vec::new(),
        ignore: vec!["*".into()],
        ignore_from: Vec::new(),
        withheld: Vec::new(),
    };
    let config = ConfigFile { name, sha256: "0".into() };
    let env = Env { file: None, names: Vec::new() };
    let (contract, local) = Default::default();
    Plan {
        version: 1,
        config,
        server,
        context,
        contract,
        images: BTreeMap::new(),
        env,
        steps,
        local,
        notes: Vec::new(),
    }
}

proptest! {
    #![proptest_config(random_cases(400))]

    #[test]
    fn every_action_is_read_back(name in nasty(), actions in vec(action(), 1..4)) {
        let plan = plan(name, actions);
        prop_assert_eq!(check(&plan), Ok(()));
        prop_assert_eq!(dockerignore(&plan).lines().count(), 2);
    }
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
        let plan = lower(&analysis.config, analysis.packages.as_ref(), &files, "agent.json", &Options::default());
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
            let plan = lower(
                &analysis.config,
                analysis.packages.as_ref(),
                &files,
                "agent.json",
                &Options::default(),
            );
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
        check(&lower(
            &analysis.config,
            analysis.packages.as_ref(),
            &project.files,
            "agent.json",
            &Options::default(),
        ))
        .unwrap();
    }
}
