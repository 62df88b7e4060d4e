//! Repositories of code hosts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::Repository;

use super::Shared;
use super::answer::{Refusal, json_response};
use super::query::Ids;

/// Path of the repositories of an integration, in the dialect of the specification.
pub(super) const PATH: &str = "/v1/integrations/forge/codehost/";

/// `GET /v1/integrations/forge/codehost/{integration_id}/repos`
pub(super) async fn list(State(shared): State<Arc<Shared>>, uri: Uri, ids: Ids) -> Result<Response, Refusal> {
    if !uri.path().starts_with(&shared.options.vocabulary.path(PATH)) {
        return Err(Refusal::Plain(StatusCode::NOT_FOUND, "Not Found".to_owned()));
    }
    let id = ids.get("integration_id");
    let of_integration = |repository: &&Repository| repository.host_integration_id == id;
    let found: Vec<_> = shared.options.repositories.iter().filter(of_integration).collect();
    if found.is_empty() {
        return Err(Refusal::missing("Integration", id));
    }
    Ok(json_response(StatusCode::OK, &json!(found)))
}
