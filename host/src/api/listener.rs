//! Listeners, which run deployments in clusters.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use super::answer::{Refusal, page, spoken};
use super::query::{Ids, Query};
use super::shared::Shared;
use agentcli::api::wire::{Listener, Source, SourceConfig};

/// `GET /v2/listeners`
pub(super) async fn list(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    let mut query = Query::parse(&uri);
    let (offset, limit) = query.page(100, 20);
    query.done()?;
    let listeners = shared.options.listeners.iter().skip(offset).take(limit);
    Ok(page(shared.options.vocabulary, offset, listeners.map(|listener| json!(listener)).collect()))
}

/// `GET /v2/listeners/{listener_id}`
pub(super) async fn get(State(shared): State<Arc<Shared>>, ids: Ids) -> Result<Response, Refusal> {
    let id = ids.get("listener_id");
    let found = find(&shared, id).ok_or_else(|| Refusal::missing("Listener", id))?;
    Ok(spoken(shared.options.vocabulary, StatusCode::OK, json!(found)))
}

fn find<'a>(shared: &'a Shared, id: &str) -> Option<&'a Listener> {
    shared.options.listeners.iter().find(|listener| listener.id == id)
}

/// Checks that a new deployment names a listener and one of its namespaces, if this service has listeners.
pub(super) fn check(shared: &Shared, source: &Source, config: &SourceConfig) -> Result<(), Refusal> {
    if *source != Source::ExternalContainer || shared.options.listeners.is_empty() {
        return Ok(());
    }
    let word = shared.word(source);
    let id = config.listener_id.as_ref().ok_or_else(|| {
        Refusal::bad(format!("'source_config.listener_id' is required for source '{word}'."))
    })?;
    let listener = find(shared, id).ok_or_else(|| Refusal::bad(format!("Listener ID {id} not found.")))?;
    let namespace = config.listener_config.as_ref().and_then(|config| config.cluster_namespace.as_ref());
    if namespace.is_some_and(|namespace| listener.namespaces().contains(namespace)) {
        return Ok(());
    }
    let field = shared.options.vocabulary.field("listener_config", "cluster_namespace");
    Err(Refusal::bad(format!("source_config.listener_config.{field} must be a namespace of the listener.")))
}
