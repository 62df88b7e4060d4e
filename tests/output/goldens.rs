//! Every folder of `fixtures/valid`: its plan, its Dockerfile and what a build of it sees, byte for byte. What is
//! expected lies in `fixtures/expected`, apart from the project, whose contents it would change.

use std::fs;
use std::path::{Path, PathBuf};

use agentcli::compiler::back::emit::compose::{Build, Form, compose};
use agentcli::compiler::back::emit::dockerfile::{dockerfile, dockerignore};
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::lower::setup::{SetupOptions, setup};
use agentcli::compiler::back::plan::Plan;
use agentcli::compiler::front::config::EnvConfig;
use agentcli::compiler::{Analysis, Options, analyze};
use agentcli::project::{Boundary, Project};
use indexmap::IndexMap;
use tempfile::TempDir;

use super::compose_file::{assert_valid, parsed};
use crate::harness::{TestEnv, copy_changed, fixtures, golden};

/// Where the configuration of a case lies, relative to the case's folder.
pub(crate) fn config_of(case: &Path) -> PathBuf {
    let monorepo = Path::new("apps/agent/agent.json");
    if case.join(monorepo).is_file() { monorepo.to_owned() } else { PathBuf::from("agent.json") }
}

pub(crate) fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures("valid")).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

fn name(case: &Path) -> String {
    case.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Loads and checks the configuration `config` of `directory`.
pub(super) fn load(directory: &Path, config: &Path) -> (Project, Analysis) {
    let project = Project::load(directory, config, Boundary::Project).unwrap();
    let analysis = analyze("agent.json", &project.source.text, &project.files);
    (project, analysis)
}

pub(crate) fn plan(directory: &Path, config: &Path) -> Plan {
    let (project, analysis) = load(directory, config);
    assert!(analysis.is_usable(), "{}: {:#?}", directory.display(), analysis.diagnostics);
    lower(&analysis.config, &project.files, "agent.json", &Options::default())
}

/// Everything that is made of a case: file name and text.
fn outputs(directory: &Path, config: &Path) -> [(&'static str, String); 4] {
    let plan = plan(directory, config);
    let values = load(directory, config).1.config.env;
    let json = serde_json::to_string_pretty(&plan).unwrap() + "\n";
    [
        ("plan.json", json),
        ("Dockerfile", dockerfile(&plan)),
        ("Dockerfile.dockerignore", dockerignore(&plan)),
        ("compose.yaml", compose_file(&plan, values)),
    ]
}

/// The compose file beside the configuration, with everything in it that there can be.
fn compose_file(plan: &Plan, env: Option<EnvConfig>) -> String {
    let options = SetupOptions {
        name: "agent".to_owned(),
        port: 8123,
        debugger_port: Some(8124),
        debugger_base_url: None,
        has_database: false,
        image: None,
        env: match env {
            Some(EnvConfig::Map(values)) => values,
            _ => IndexMap::new(),
        },
        env_file_names: IndexMap::new(),
    };
    let project = plan.context.project.as_str();
    let dockerfile_path =
        if project == "." { "./Dockerfile".to_owned() } else { format!("./{project}/Dockerfile") };
    let build = Build { context: plan.context.root.clone(), dockerfile: dockerfile_path };
    let remark = ". Start: docker compose up --wait. Stop: docker compose down.".to_owned();
    let form = Form { remark, build: Some(build), env_file: plan.env.file.clone(), ..Form::default() };
    let text = compose(plan, &setup(plan, &options), &form);
    assert_valid(&parsed(&text));
    text
}

#[test]
fn each_valid_project_compiles_as_expected() {
    let mut wrong = Vec::new();
    for case in cases() {
        let expected = fixtures("expected").join(name(&case));
        fs::create_dir_all(&expected).unwrap();
        for (file, text) in outputs(&case, &config_of(&case)) {
            wrong.extend(golden(&expected.join(file), &text).err());
        }
    }
    assert!(wrong.is_empty(), "{}\nAGENTCLI_BLESS=1 cargo test writes them anew", wrong.join("\n"));
}

#[test]
fn the_valid_projects_are_free_of_findings() {
    for case in cases() {
        let (_, analysis) = load(&case, &config_of(&case));
        // Some keys of `every-key` have no effect together with others.
        let found = analysis.diagnostics.iter().filter(|it| it.rule.code != "ineffective-key");
        let found: Vec<String> = found.map(|it| format!("{}: {}", it.rule.code, it.message)).collect();
        assert!(found.is_empty(), "{}: {found:#?}", case.display());
    }
}

#[test]
fn nothing_expected_is_left_over() {
    let cases: Vec<String> = cases().iter().map(|case| name(case)).collect();
    for entry in fs::read_dir(fixtures("expected")).unwrap() {
        let entry = entry.unwrap().file_name().into_string().unwrap();
        assert!(cases.contains(&entry), "fixtures/expected/{entry} belongs to no case");
    }
}

#[test]
fn neither_the_checkout_nor_line_endings_make_a_difference() {
    let crlf = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => text.replace('\n', "\r\n").into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let temporary = TempDir::new().unwrap();
    for case in cases() {
        let config = config_of(&case);
        let one = temporary.path().join("one").join(name(&case));
        let other = temporary.path().join("and another: it's $HERE").join("deeper").join(name(&case) + " 2");
        copy_changed(&case, &one, &|bytes| bytes);
        copy_changed(&case, &other, &crlf);
        [&one, &other].iter().for_each(|copy| fs::create_dir(copy.join(".git")).unwrap());
        assert_eq!(outputs(&one, &config), outputs(&case, &config));
        assert_eq!(outputs(&other, &config), outputs(&case, &config));
    }
}

/// A package that is the context's root is imported under its directory's name, so that this name must count.
#[test]
fn a_flat_package_at_the_root_keeps_its_name() {
    let temporary = TempDir::new().unwrap();
    for directory in ["one", "other"] {
        let directory = temporary.path().join(directory);
        fs::create_dir(&directory).unwrap();
        for (file, text) in [
            ("agent.json", r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}"#),
            ("agent.py", "graph = object()\n"),
            ("__init__.py", ""),
        ] {
            fs::write(directory.join(file), text).unwrap();
        }
    }
    let text = |name: &str| outputs(&temporary.path().join(name), Path::new("agent.json"))[1].1.clone();
    assert!(text("one").contains("/deps/app/one/agent.py:graph"), "{}", text("one"));
    assert_eq!(text("one").replace("/deps/app/one", "/deps/app/other"), text("other"));
}

#[test]
fn the_current_directory_makes_no_difference() {
    for case in cases() {
        let (name, config) = (name(&case), config_of(&case));
        let shown = config.display();
        let expected = outputs(&case, &config)[1].1.clone();
        let places = [
            (case.clone(), format!("{shown}")),
            (case.join(config.parent().unwrap()), "agent.json".to_owned()),
            (fixtures("valid"), format!("{name}/{shown}")),
            (fixtures("expected"), format!("../valid/{name}/{shown}")),
        ];
        for (directory, config) in places {
            let run = TestEnv::inside(&directory).run(&format!("dockerfile - --config {config}"));
            assert_eq!((run.code, run.out), (0, expected.clone()), "{config}: {}", run.err);
        }
    }
}
