//! The OpenAPI description: it has every route and field, and every answer of every test is as it says.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex};

use agentcli::api::Vocabulary;
use agentcli::api::wire::{
    AgentEnvironment, DeploymentPatch, DeploymentStatus, LogEntry, LogLevel, LogOrder, LogRequest,
    PushTokenRequest, ResourceSpec, RevisionStatus, Source, SourceConfig, SourceRevisionConfig,
    UploadUrlRequest,
};
use agentcli_host::{OPEN_ROUTES, ROUTES, openapi};
use jsonschema::Validator;
use serde_json::{Value, json};

use super::service::{Answer, Host};

/// What only the service writes: these records have no fields that are not described.
const CLOSED: &[&str] = &[
    "Agent",
    "Deployment",
    "DeploymentPage",
    "Revision",
    "RevisionPage",
    "ListenerPage",
    "SourceConfig",
    "SourceRevisionConfig",
    "ListenerConfig",
    "ResourceSpec",
    "SecretName",
    "LogEntry",
    "LogPage",
    "PushToken",
    "UploadUrl",
    "Problem",
    "ValidationProblem",
    "ValidationError",
];

/// A description, and the validators of its schemas that were needed so far.
struct Description {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Description {
    fn new(vocabulary: Vocabulary) -> Self {
        let mut document = openapi(vocabulary);
        for name in CLOSED {
            document["components"]["schemas"][name]["additionalProperties"] = json!(false);
        }
        Self { document, validators: Mutex::default() }
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let made = validators.entry(schema.to_string()).or_insert_with(|| {
            let mut schema = schema.clone();
            schema["components"] = self.document["components"].clone();
            let options = jsonschema::options();
            Arc::new(options.should_validate_formats(true).build(&schema).unwrap())
        });
        made.clone()
    }

    /// What a reference means.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let target = value["$ref"].as_str().and_then(|path| self.document.pointer(path.strip_prefix('#')?));
        target.unwrap_or(value)
    }
}

static SPECIFIED: LazyLock<Description> = LazyLock::new(|| Description::new(Vocabulary::Specification));
static PUBLIC: LazyLock<Description> = LazyLock::new(|| Description::new(Vocabulary::Public));

/// Whether a path is of this template.
fn is_of(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    let mut pairs = template.iter().zip(&path);
    template.len() == path.len()
        && pairs.all(|(one, other)| one == other || (one.starts_with('{') && !other.is_empty()))
}

/// Fails unless an answer is as the description says.
pub(super) fn check(vocabulary: Vocabulary, method: &str, path: &str, answer: &Answer) {
    let description: &Description = if vocabulary == Vocabulary::Public { &PUBLIC } else { &SPECIFIED };
    let path = path.split(['?', '#']).next().unwrap();
    if path == "/v2/" || path.starts_with("/v2/images/") {
        // The OCI distribution specification describes the registry.
        return;
    }
    let mut templates = description.document["paths"].as_object().unwrap().iter();
    let operation = templates.find(|(template, _)| is_of(template, path)).map(|(_, methods)| methods);
    let operation = operation.and_then(|methods| methods.get(method.to_ascii_lowercase()));
    let place = format!("{method} {path}: {} {}", answer.status, answer.text);
    let Some(operation) = operation else {
        // There is no such route.
        assert!(matches!(answer.status, 401 | 404 | 405 | 422), "{place}");
        return;
    };
    let response = description.resolved(&operation["responses"][answer.status.to_string()]);
    assert!(response.is_object(), "the status is not described: {place}");
    let kind = answer.header("Content-Type");
    let Some(content) = response["content"].as_object() else {
        assert_eq!((answer.text.as_str(), kind), ("", ""), "{place}");
        return;
    };
    let schema = content.get(kind).unwrap_or_else(|| panic!("{kind} is not described: {place}"));
    let value = if kind == "application/json" { answer.json.clone() } else { json!(answer.text) };
    let validator = description.validator(&schema["schema"]);
    let wrong: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{} {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {place}");
}

/// The operations of a description: method, path template and operation.
pub(super) fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(|(method, operation)| (method.to_ascii_uppercase(), path.clone(), operation.clone()))
    });
    operations.collect()
}

#[test]
fn every_route_is_described_with_its_key() {
    for vocabulary in [Vocabulary::Specification, Vocabulary::Public] {
        let described: BTreeSet<_> = operations(&openapi(vocabulary))
            .into_iter()
            .map(|(method, path, operation)| (method, path, operation["security"] != json!([])))
            .collect();
        let routes = [(ROUTES, true), (OPEN_ROUTES, false)].into_iter().flat_map(|(routes, needs_key)| {
            let route =
                move |it: &agentcli_host::Route| (it.method.to_owned(), vocabulary.path(it.path), needs_key);
            routes.iter().map(route)
        });
        assert_eq!(described, routes.collect());
    }
}

#[test]
fn references_lead_to_something_and_everything_is_used() {
    let document = openapi(Vocabulary::Specification);
    let text = document.to_string();
    let used: BTreeSet<&str> =
        text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    for path in &used {
        assert!(document.pointer(path).is_some(), "{path}");
    }
    for kind in ["schemas", "responses", "parameters", "requestBodies"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(format!("/components/{kind}/{name}").as_str()), "{kind}/{name}");
        }
    }
    let ids: BTreeSet<String> =
        operations(&document).iter().map(|(.., it)| it["operationId"].to_string()).collect();
    assert_eq!(ids.len(), operations(&document).len());
    for schema in document["components"]["schemas"].as_object().unwrap().values() {
        jsonschema::meta::validate(schema).unwrap();
    }
}

#[test]
fn schemas_have_the_fields_and_words_of_the_records() {
    let document = openapi(Vocabulary::Specification);
    let schemas = &document["components"]["schemas"];
    for (name, fields) in [
        ("ResourceSpec", ResourceSpec::FIELDS),
        ("SourceConfig", SourceConfig::FIELDS),
        ("SourceRevisionConfig", SourceRevisionConfig::FIELDS),
        ("DeploymentPatch", DeploymentPatch::FIELDS),
        ("LogRequest", LogRequest::FIELDS),
        ("LogEntry", LogEntry::FIELDS),
        ("PushTokenRequest", PushTokenRequest::FIELDS),
        ("UploadUrlRequest", UploadUrlRequest::FIELDS),
    ] {
        let described: BTreeSet<&str> =
            schemas[name]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, fields.iter().copied().collect(), "{name}");
    }
    for (name, words) in [
        ("Source", Source::WORDS),
        ("DeploymentStatus", DeploymentStatus::WORDS),
        ("RevisionStatus", RevisionStatus::WORDS),
        ("AgentEnvironment", AgentEnvironment::WORDS),
        ("LogLevel", LogLevel::WORDS),
        ("LogOrder", LogOrder::WORDS),
    ] {
        assert_eq!(schemas[name]["enum"], json!(words), "{name}");
    }
}

#[test]
fn it_is_served_without_a_key_in_the_dialect_of_the_service() {
    for vocabulary in [Vocabulary::Specification, Vocabulary::Public] {
        let host = Host::start(|options| options.vocabulary = vocabulary);
        let answer = host.send("GET", "/openapi.json", &[], None).unwrap();
        assert_eq!((answer.status, answer.json), (200, openapi(vocabulary)));
    }
    let public = openapi(Vocabulary::Public)["components"]["schemas"].take();
    assert_eq!(public["Source"]["enum"][0], "github");
    assert!(public["SourceRevisionConfig"]["properties"]["langgraph_config_path"].is_object());
}
