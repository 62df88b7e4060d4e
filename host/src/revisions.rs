//! Revisions of a deployment.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;
use uuid::Uuid;

use agentcli::api::wire::{LogLevel, Object, Revision, RevisionStatus, Source, SourceRevisionConfig};

use super::answer::Refusal;
use super::deployments::{found, missing, spoken};
use super::query::{Ids, Query};
use super::store::LogKind;
use super::{Shared, worker};
use agentcli::api::time;

/// Creates a revision and starts processing it.
pub(super) fn add(shared: &Arc<Shared>, deployment: &str, source: Source, config: SourceRevisionConfig) {
    let now = time::now_as_text();
    let revision = Revision {
        id: Uuid::new_v4().to_string(),
        created_at: now.clone(),
        updated_at: now,
        status: RevisionStatus::Creating,
        source,
        source_revision_config: config,
        other: Object::new(),
    };
    if let Some(number) = shared.store.add_revision(deployment, revision.clone()) {
        worker::start(shared, deployment, revision, number);
    }
}

/// `GET /v2/deployments/{deployment_id}/revisions`
pub(super) async fn list(State(shared): State<Arc<Shared>>, ids: Ids, uri: Uri) -> Result<Response, Refusal> {
    let id = ids.get("deployment_id");
    let mut query = Query::parse(&uri);
    let (offset, limit) = query.page(100, 20);
    let statuses = query.list("status");
    let remote_reconciled = query.boolean("remote_reconciled");
    let known = |word: &String| RevisionStatus::WORDS.contains(&word.as_str());
    if statuses.as_ref().is_some_and(|statuses| !statuses.iter().all(known)) {
        let words = RevisionStatus::WORDS.join(", ");
        query.refuse("status", format!("Must be some of {words}."), "literal_error");
    }
    query.done()?;
    let deployment = shared.store.get(id).ok_or_else(|| missing(id))?;
    let is_remote = deployment.source_config.listener_id.is_some();
    let wanted = |revision: &Revision| {
        let word = revision.status.word();
        statuses.as_ref().is_none_or(|any| any.iter().any(|wanted| wanted == word))
            && remote_reconciled.is_none_or(|wanted| wanted == is_remote)
    };
    let resources = shared.store.revisions(id, wanted, offset, limit);
    let next = offset.saturating_add(resources.len());
    Ok(spoken(&shared, StatusCode::OK, &json!({ "resources": resources, "offset": next })))
}

/// `GET /v2/deployments/{deployment_id}/revisions/{revision_id}`
pub(super) async fn get(State(shared): State<Arc<Shared>>, ids: Ids) -> Result<Response, Refusal> {
    let revision = find(&shared, ids.get("deployment_id"), ids.get("revision_id"))?;
    Ok(spoken(&shared, StatusCode::OK, &revision))
}

/// A revision of a deployment.
pub(super) fn find(shared: &Shared, deployment: &str, id: &str) -> Result<Revision, Refusal> {
    if shared.store.get(deployment).is_none() {
        return Err(missing(deployment));
    }
    shared.store.revision(deployment, id).ok_or_else(|| Refusal::missing("Revision", id))
}

/// `POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy`
pub(super) async fn redeploy(State(shared): State<Arc<Shared>>, ids: Ids) -> Result<Response, Refusal> {
    let id = ids.get("deployment_id");
    let revision = find(&shared, id, ids.get("revision_id"))?;
    if !revision.status.is_final() {
        let word = &revision.status;
        return Err(Refusal::bad(format!("The revision is {word}; it can be redeployed when it is done.")));
    }
    shared.uploads.check(id, revision.source_revision_config.source_tarball_path.as_deref())?;
    add(&shared, id, revision.source, revision.source_revision_config);
    found(&shared, id, StatusCode::OK)
}

/// `POST /v2/deployments/{deployment_id}/revisions/{revision_id}/interruption`
pub(super) async fn interrupt(State(shared): State<Arc<Shared>>, ids: Ids) -> Result<Response, Refusal> {
    let (deployment, id) = (ids.get("deployment_id"), ids.get("revision_id"));
    let revision = find(&shared, deployment, id)?;
    if !shared.store.advance(deployment, id, RevisionStatus::Interrupted) {
        let word = &revision.status;
        return Err(Refusal::bad(format!("The revision is {word}, and cannot be interrupted any more.")));
    }
    shared.store.log(deployment, id, LogKind::Build, LogLevel::Warning, "interrupted on request");
    Ok(spoken(&shared, StatusCode::OK, &find(&shared, deployment, id)?))
}
