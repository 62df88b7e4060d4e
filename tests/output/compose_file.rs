//! A reader of compose files that is not our own, and the JSON Schema of the Compose Specification (2021, the time of
//! compose's first version 2), Copyright The Compose Specification Authors, Apache License 2.0.

use saphyr::{LoadableYamlNode, Yaml};
use serde_json::Value;

const SCHEMA: &str = include_str!("compose.schema.json");

/// The only document of the file as another YAML parser reads it, as JSON.
pub(crate) fn parsed(yaml: &str) -> Value {
    let mut documents = documents(yaml);
    assert_eq!(documents.len(), 1, "{yaml}");
    merged(documents.remove(0))
}

/// The value with the merge keys of YAML 1.1 resolved, which compose knows.
fn merged(value: Value) -> Value {
    match value {
        Value::Object(mut members) => {
            let base =
                members.remove("<<").into_iter().filter_map(|base| base.as_object().cloned()).flatten();
            base.chain(members).map(|(key, member)| (key, merged(member))).collect()
        }
        Value::Array(items) => items.into_iter().map(merged).collect(),
        value => value,
    }
}

/// The documents of the file as another YAML parser reads them, as JSON.
pub(crate) fn documents(yaml: &str) -> Vec<Value> {
    fn value(yaml: &Yaml<'_>) -> Value {
        if let Some(text) = yaml.as_str() {
            return text.into();
        }
        if let Some(list) = yaml.as_vec() {
            return list.iter().map(value).collect();
        }
        match yaml.as_mapping() {
            Some(members) => members
                .iter()
                .map(|(key, member)| {
                    (key.as_str().unwrap_or_else(|| panic!("{key:?}")).to_owned(), value(member))
                })
                .collect(),
            None => {
                yaml.as_integer().map(Value::from).or(yaml.as_bool().map(Value::from)).unwrap_or_default()
            }
        }
    }
    let documents = Yaml::load_from_str(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    documents.iter().map(value).collect()
}

/// Checks `file` against the schema.
pub(crate) fn assert_valid(file: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = schema.iter_errors(file).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{file:#}");
}
