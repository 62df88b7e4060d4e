//! Revisions of a deployment.

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::{Deployment, LogLevel, Revision, RevisionStatus};

use super::answer::{Refusal, page, spoken};
use super::call::Call;
use super::query::Query;
use super::shared::Shared;
use super::{deployments, rules, uploads};
use crate::store::{LogKind, Tx};

/// `GET /v2/deployments/{deployment_id}/revisions`
pub(super) async fn list(Call { shared, tenant, ids }: Call, uri: Uri) -> Result<Response, Refusal> {
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
    let resources = shared.store.read(|tx| {
        let deployment = deployments::find(tx, &tenant, id)?;
        let is_remote = deployment.source_config.listener_id.is_some();
        if remote_reconciled.is_some_and(|wanted| wanted != is_remote) {
            return Ok(Vec::new());
        }
        Ok::<_, Refusal>(tx.revisions(id, statuses.as_deref(), offset, limit)?)
    })?;
    Ok(page(shared.options.vocabulary, offset, resources.iter().map(|revision| json!(revision)).collect()))
}

/// `GET /v2/deployments/{deployment_id}/revisions/{revision_id}`
pub(super) async fn get(Call { shared, tenant, ids }: Call) -> Result<Response, Refusal> {
    let (deployment, id) = (ids.get("deployment_id"), ids.get("revision_id"));
    let revision = shared.store.read(|tx| find(tx, &tenant, deployment, id))?;
    Ok(spoken(shared.options.vocabulary, StatusCode::OK, json!(revision)))
}

/// A revision of a deployment of a tenant.
pub(super) fn find(tx: &Tx<'_>, tenant: &str, deployment: &str, id: &str) -> Result<Revision, Refusal> {
    deployments::find(tx, tenant, deployment)?;
    tx.revision(deployment, id)?.ok_or_else(|| Refusal::missing("Revision", id))
}

/// `POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy`
pub(super) async fn redeploy(Call { shared, tenant, ids }: Call) -> Result<Response, Refusal> {
    let service = shared.clone();
    let deployment = shared
        .store
        .change(move |tx| repeat(&service, tx, &tenant, [ids.get("deployment_id"), ids.get("revision_id")]))
        .await?;
    shared.wake.notify_one();
    Ok(deployments::shown(&shared, StatusCode::OK, &deployment))
}

/// Adds a revision with the configuration of an older one.
fn repeat(
    shared: &Shared,
    tx: &Tx<'_>,
    tenant: &str,
    [deployment, id]: [&str; 2],
) -> Result<Deployment, Refusal> {
    let revision = find(tx, tenant, deployment, id)?;
    if !revision.status.is_final() {
        let word = &revision.status;
        return Err(Refusal::bad(format!("The revision is {word}; it can be redeployed when it is done.")));
    }
    let kept = tx.kept_image(id)?;
    if kept.is_none() {
        uploads::check(tx, deployment, revision.source_revision_config.source_tarball_path.as_deref())?;
    }
    let mut changed = deployments::find(tx, tenant, deployment)?;
    changed.source_revision_config = revision.source_revision_config;
    if kept.is_none() {
        rules::pushed_image(shared, tx, &changed, &revision.source)?;
    }
    tx.add_revision(&mut changed, revision.source, kept.as_deref())?;
    deployments::find(tx, tenant, deployment)
}

/// `POST /v2/deployments/{deployment_id}/revisions/{revision_id}/interruption`
pub(super) async fn interrupt(Call { shared, tenant, ids }: Call) -> Result<Response, Refusal> {
    let revision = shared
        .store
        .change(move |tx| stop(tx, &tenant, ids.get("deployment_id"), ids.get("revision_id")))
        .await?;
    shared.wake.notify_one();
    Ok(spoken(shared.options.vocabulary, StatusCode::OK, json!(revision)))
}

fn stop(tx: &Tx<'_>, tenant: &str, deployment: &str, id: &str) -> Result<Revision, Refusal> {
    let revision = find(tx, tenant, deployment, id)?;
    if !tx.interrupt(&revision)? {
        let word = &revision.status;
        return Err(Refusal::bad(format!("The revision is {word}, and cannot be interrupted any more.")));
    }
    tx.log(id, LogKind::Build, &LogLevel::Warning, "interrupted on request")?;
    find(tx, tenant, deployment, id)
}
