//! The repositories that the operator lists.

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::{Source, SourceConfig};

use super::answer::{Refusal, json_response};
use super::call::Call;
use super::shared::Shared;

/// Path of the repositories of an integration, in the dialect of the specification.
pub(super) const PATH: &str = "/v1/integrations/forge/codehost/";

/// Checks that the repository of a new deployment is listed for its tenant, if this service lists any.
pub(super) fn check(
    shared: &Shared,
    tenant: &str,
    source: &Source,
    config: &SourceConfig,
) -> Result<(), Refusal> {
    let listed = &shared.options.repositories;
    if *source != Source::Codehost || listed.is_empty() {
        return Ok(());
    }
    let tenant = shared.store.read(|tx| tx.tenant_name(tenant))?;
    let integration = config.integration_id.as_deref().unwrap_or_default();
    if listed.of_integration(&tenant, integration).next().is_none() {
        return Err(Refusal::bad(format!("Integration ID {integration} not found.")));
    }
    if listed.has(&tenant, config) {
        return Ok(());
    }
    Err(Refusal::bad("source_config.repo_url must be a repository of the integration."))
}

/// `GET /v1/integrations/forge/codehost/{integration_id}/repos`
pub(super) async fn list(Call { shared, tenant, ids }: Call, uri: Uri) -> Result<Response, Refusal> {
    if !uri.path().starts_with(&shared.options.vocabulary.path(PATH)) {
        return Err(Refusal::Plain(StatusCode::NOT_FOUND, "Not Found".to_owned()));
    }
    let tenant = shared.store.read(|tx| tx.tenant_name(&tenant))?;
    let id = ids.get("integration_id");
    let found: Vec<_> = shared.options.repositories.of_integration(&tenant, id).collect();
    if found.is_empty() {
        return Err(Refusal::missing("Integration", id));
    }
    Ok(json_response(StatusCode::OK, &json!(found)))
}
