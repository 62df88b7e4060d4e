//! The packages whose bytecode is in the image: those that the project imports.

use agentcli::compiler::back::lower::{BYTECODE, lower};
use agentcli::compiler::back::plan::{Action, Command, Plan};
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze};
use serde_json::{Value, json};

const AGENT: &str = "./agent.py:graph";
const END: &str = "\ngraph = object()\n";

fn plan(config: &Value, files: &[(&str, &str)]) -> Plan {
    let files = Tree::new(MemoryFiles::new(files.iter().copied()));
    let analysis = analyze("agent.json", &config.to_string(), &files);
    assert!(analysis.is_usable(), "{config}: {:#?}", analysis.diagnostics);
    lower(&analysis.config, analysis.packages.as_ref(), &files, "agent.json", &Options::default())
}

/// The arguments of the program that compiles.
fn arguments(plan: &Plan) -> Option<String> {
    let commands = plan.steps.iter().filter_map(|step| match &step.action {
        Action::Run { commands, .. } => Some(commands),
        _ => None,
    });
    commands.flatten().find_map(|command| match command {
        Command::Shell(line) => {
            let (_, rest) = line.split_once(&format!("python3 -W ignore {BYTECODE}"))?;
            Some(rest.split(" && ").next()?.trim().to_owned())
        }
        _ => None,
    })
}

/// The same for a project with this code in its first file, and further files.
fn chosen(code: &str, files: &[(&str, &str)]) -> String {
    let agent = format!("{code}{END}");
    let files: Vec<_> = files.iter().copied().chain([("agent.py", &*agent)]).collect();
    let config = json!({ "dependencies": [".", "httpx>=1"], "graphs": { "agent": AGENT } });
    arguments(&plan(&config, &files)).unwrap()
}

#[test]
fn imported_packages_are_compiled() {
    for (code, expected) in [
        ("", ""),
        ("import os, json, pydantic, yaml", ""),
        ("import langgraph.graph, openai.types", " langgraph openai"),
        ("from langchain_openai import ChatOpenAI", " langchain_openai"),
        ("try:\n    import b\nexcept ImportError:\n    b = None\ndef f():\n    import a", " a b"),
        (
            "from google.cloud import storage\nimport google.genai.types as t",
            " google.cloud.storage google.genai",
        ),
        ("import google, google.cloud", ""),
        ("import opentelemetry.trace, _private", " opentelemetry"),
        (
            "model = init_chat_model('openai:gpt-5', fallback=\"bedrock:x\")",
            " langchain_aws langchain_openai",
        ),
        ("LIMITS = {'openai:gpt-5': 1}\nx = m.startswith('groq:')\ny = 'openai'\n# see xai:x", ""),
    ] {
        assert_eq!(chosen(code, &[]), format!("langgraph-api{expected}"), "{code}");
    }
}

#[test]
fn imports_are_followed_through_the_project() {
    let other = ("lib/other.py", "def late():\n    from . import last");
    let last = ("lib/last.py", "import a");
    let files = [("lib/__init__.py", ""), other, last];
    let code = "def late():\n    import lib.other";
    assert_eq!(chosen(code, &files), "langgraph-api a");
    // A directory that nothing shows to be on the import path.
    let hidden = [("inner/deep/hidden.py", "import b")];
    assert_eq!(chosen("import inner.deep.missing, a", &hidden), "");
}

#[test]
fn packages_that_the_configuration_names_are_compiled() {
    let config = json!({
        "dependencies": [".", "deepagents"],
        "graphs": { "agent": "deepagents.graph:graph" },
        "store": { "index": { "embed": "openai:text-embedding-3-small", "dims": 3 } },
        "http": { "app": "./app.py:app" },
    });
    let files = [("app.py", "import fastapi\napp = object()")];
    assert_eq!(
        arguments(&plan(&config, &files)).unwrap(),
        "langgraph-api deepagents fastapi langchain_openai"
    );
    let config = json!({ "dependencies": [".", "x"], "graphs": { "a": "$HOME:graph", "b": "./app.py:app" } });
    assert_eq!(arguments(&plan(&config, &files)).unwrap(), "langgraph-api fastapi");
}

/// Another import runs the step of the bytecode again, and not those before it.
#[test]
fn imports_leave_the_requirements_as_they_are() {
    let manifest = "[project]\nname = 'x'\nversion = '1'\ndependencies = ['openai']\n[build-system]\nrequires = ['hatchling']\n\
                    build-backend = 'hatchling.build'\n[tool.hatch.build.targets.wheel]\nonly-include = ['agent.py']\n";
    for files in [[("requirements.txt", "openai")], [("pyproject.toml", manifest)]] {
        let of = |code: &str| {
            let agent = format!("{code}{END}");
            let files: Vec<_> = files.iter().copied().chain([("agent.py", &*agent)]).collect();
            plan(&json!({ "dependencies": ["."], "graphs": { "agent": AGENT } }), &files)
        };
        let (one, two) = (of("import a"), of("import openai"));
        let changed = |(one, two): &(_, _)| one != two;
        let steps: Vec<_> = one.steps.iter().zip(&two.steps).filter(changed).map(|(one, _)| one).collect();
        let [step] = steps[..] else { panic!("{steps:#?}") };
        assert!(step.why.contains("bytecode of imported packages"), "{step:?}");
        let Action::Run { commands, .. } = &step.action else { panic!("{step:?}") };
        assert!(!format!("{commands:?}").contains("constraints"), "{commands:?}");
    }
}

#[test]
fn nothing_is_compiled_where_nothing_is_installed() {
    let config = json!({ "dependencies": ["."], "graphs": { "agent": AGENT } });
    assert_eq!(arguments(&plan(&config, &[("agent.py", END)])), None);
}
