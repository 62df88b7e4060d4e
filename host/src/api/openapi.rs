//! The OpenAPI description of the service.
//!
//! `description.json` has each route with its parameters, its body and its own responses, in the dialect of the
//! specification. The errors that follow from the form of a route are added here. Tests compare the description with the
//! table of routes, and every response of a test with the description.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use agentcli::api::Vocabulary;

use super::answer::json_response;
use super::shared::Shared;

const DESCRIPTION: &str = include_str!("openapi/description.json");

/// Schemas whose fields have other names in the other dialect, and their records.
const TRANSLATED: &[(&str, &str)] = &[
    ("SourceRevisionConfig", "source_revision_config"),
    ("ListenerConfig", "listener_config"),
    ("ComputeConfig", "compute_config"),
];

/// Schemas of sources, whose words differ between the dialects.
const SOURCES: &[&str] = &["Source", "RevisionSource"];

/// `GET /openapi.json`
pub(super) async fn get(State(shared): State<Arc<Shared>>) -> Response {
    json_response(StatusCode::OK, &openapi(shared.options.vocabulary))
}

/// The OpenAPI description of a service with this dialect.
pub fn openapi(vocabulary: Vocabulary) -> Value {
    // A test parses it.
    let mut description: Value = serde_json::from_str(DESCRIPTION).unwrap_or_default();
    description["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    let paths = description["paths"].as_object_mut().map(std::mem::take).unwrap_or_default();
    let completed = |(path, mut methods): (String, Value)| {
        methods.as_object_mut().into_iter().flatten().for_each(|(_, operation)| complete(operation, &path));
        (vocabulary.path(&path), methods)
    };
    description["paths"] = paths.into_iter().map(completed).collect::<Map<_, _>>().into();
    translate(&mut description["components"]["schemas"], vocabulary);
    description
}

/// Adds the parameters of the path, and the errors that follow from the form of the operation.
fn complete(operation: &mut Value, path: &str) {
    let mut parameters: Vec<Value> = path.split('/').filter_map(parameter).collect();
    let mut errors = Vec::new();
    let needs_key = operation.get("security").is_none();
    if needs_key {
        errors.extend([(401, "Unauthorized"), (429, "TooMany")]);
    }
    if needs_key && !parameters.is_empty() {
        errors.push((404, "NotFound"));
    }
    if !parameters.is_empty() {
        errors.push((422, "Invalid"));
    }
    if operation.get("requestBody").is_some() {
        errors.extend([(408, "Timeout"), (413, "TooLarge"), (415, "UnsupportedType"), (422, "Invalid")]);
    }
    if let Some(given) = operation["parameters"].as_array_mut() {
        errors.push((422, "Invalid"));
        parameters.append(given);
    }
    if !errors.is_empty() {
        errors.extend([(500, "Failed"), (503, "Stopping"), (507, "Full")]);
    }
    operation["parameters"] = parameters.into();
    for (status, name) in errors {
        operation["responses"][status.to_string()] =
            json!({ "$ref": format!("#/components/responses/{name}") });
    }
}

/// The parameter of a segment in braces, which is the ID of a resource.
fn parameter(segment: &str) -> Option<Value> {
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    let schema = json!({ "$ref": "#/components/schemas/Id" });
    Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
}

fn translate(schemas: &mut Value, vocabulary: Vocabulary) {
    for (schema, record) in TRANSLATED {
        let properties =
            schemas[schema]["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
        let properties = properties
            .into_iter()
            .map(|(name, property)| (vocabulary.field(record, &name).to_owned(), property));
        schemas[schema]["properties"] = properties.collect::<Map<_, _>>().into();
    }
    for schema in SOURCES {
        for word in schemas[schema]["enum"].as_array_mut().into_iter().flatten() {
            let mut record = json!({ "source": word.take() });
            vocabulary.exchange(&mut record);
            *word = record["source"].take();
        }
    }
}
