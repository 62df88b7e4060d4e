//! Whatever the strings of a setup: the compose file says exactly them, to another YAML parser and to compose.

use std::collections::BTreeMap;

use agentcli::compiler::back::emit::compose::{Build, Form, compose};
use agentcli::compiler::back::plan::{Plan, Service, ServiceImage, Setup, Variable};
use indexmap::IndexMap;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{config, environment, file};
use crate::harness::{mutations, random_cases};
use crate::output::compose_file::{assert_valid, parsed};
use crate::output::goldens;
use crate::output::properties::nasty;

fn plan() -> Plan {
    let case = goldens::cases().remove(0);
    goldens::plan(&case, &goldens::config_of(&case))
}

/// No environment holds the character that ends its strings.
fn text() -> impl Strategy<Value = String> {
    nasty().prop_map(|text| text.replace('\0', ""))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z_][A-Za-z0-9_]{0,8}",
        prop::sample::select(vec![
            "NO", "Y", "null", "~", "A.B", "A-B", "$X", "${X}", "Ä", "A:", "#A", "true"
        ])
        .prop_map(str::to_owned),
        // Longer than the keys of YAML for which parsers look ahead.
        prop::sample::select(vec!["A", "Ä"]).prop_map(|name| name.repeat(1100)),
    ]
}

fn service() -> impl Strategy<Value = Service> {
    let variables = hash_map(name(), text(), 0..6);
    (variables, vec(text(), 1..4), "[a-z]{1,6}").prop_map(|(variables, command, image)| Service {
        name: "a-b".to_owned(),
        is_server: false,
        image: ServiceImage::Named { name: image },
        command: Some(command),
        environment: variables.into_iter().map(|(name, text)| (name, Variable::Text { text })).collect(),
        env_file: None,
        ports: Vec::new(),
        mounts: Vec::new(),
        health: None,
        after: Vec::new(),
        ends: false,
        packages: None,
    })
}

fn setup(services: Vec<Service>) -> Setup {
    Setup { name: "any".to_owned(), services, volumes: Vec::new(), notes: Vec::new() }
}

fn texts(environment: &IndexMap<String, Variable>) -> BTreeMap<String, String> {
    let text = |variable: &Variable| match variable {
        Variable::Text { text } => text.clone(),
        Variable::From { .. } | Variable::Default { .. } => String::new(),
    };
    environment.iter().map(|(name, variable)| (name.clone(), text(variable))).collect()
}

#[test]
fn another_parser_reads_what_was_meant() {
    let plan = plan();
    proptest!(random_cases(400), |(service in service())| {
        let read = parsed(&compose(&plan, &setup(vec![service.clone()]), &Form::default()));
        assert_valid(&read);
        let unescaped = |value: &Value| value.as_str().unwrap().replace("$$", "$");
        let read = &read["services"]["a-b"];
        let variables: BTreeMap<String, String> = read["environment"].as_object().into_iter().flatten()
            .map(|(name, value)| (name.clone(), unescaped(value))).collect();
        prop_assert_eq!(variables, texts(&service.environment));
        let command: Vec<String> = read["command"].as_array().unwrap().iter().map(unescaped).collect();
        prop_assert_eq!(Some(command), service.command);
    });
}

/// Many of them in one file: compose is slow to start.
#[test]
fn compose_itself_reads_what_was_meant() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..mutations(300).div_ceil(300) {
        compose_reads(&mut runner);
    }
}

fn compose_reads(runner: &mut TestRunner) {
    let services: Vec<Service> = (0..300)
        .map(|index| {
            let service = service().new_tree(runner).unwrap().current();
            Service { name: format!("s-{index}"), ..service }
        })
        .collect();
    let directory = TempDir::new().unwrap();
    file(&directory, "c.yaml", &compose(&plan(), &setup(services.clone()), &Form::default()));
    let read = config(directory.path(), &[("X", "replaced")], "c.yaml").unwrap();
    for service in services {
        assert_eq!(
            environment(&read, &service.name),
            texts(&service.environment),
            "{:?}",
            service.environment.keys()
        );
        let command = read["services"][&service.name]["command"].as_array().unwrap();
        let command: Vec<String> = command.iter().map(|it| it.as_str().unwrap().replace("$$", "$")).collect();
        assert_eq!(Some(command), service.command);
    }
}

#[test]
fn paths_are_not_taken_for_anything_else() {
    let service = |name: &str| Service {
        name: name.to_owned(),
        is_server: true,
        image: ServiceImage::Built { name: "x".to_owned() },
        command: None,
        environment: IndexMap::new(),
        env_file: Some("any".to_owned()),
        ports: Vec::new(),
        mounts: Vec::new(),
        health: None,
        after: Vec::new(),
        ends: false,
        packages: None,
    };
    let directory = TempDir::new().unwrap();
    file(&directory, "it's $X: #1", "A=1\n");
    let form = Form {
        build: Some(Build { context: "./a $X: b".to_owned(), dockerfile: "./${X}".to_owned() }),
        env_file: Some("./it's $X: #1".to_owned()),
        ..Form::default()
    };
    file(&directory, "c.yaml", &compose(&plan(), &setup(vec![service("s-1")]), &form));
    let read = config(directory.path(), &[], "c.yaml").unwrap();
    assert_eq!(environment(&read, "s-1"), BTreeMap::from([("A".to_owned(), "1".to_owned())]));
    let build = &read["services"]["s-1"]["build"];
    let expected = directory.path().join("a $$X: b");
    assert_eq!(build["context"], json!(expected.to_str().unwrap()));
    assert!(build["dockerfile"].as_str().unwrap().ends_with("$${X}"), "{build}");
}
