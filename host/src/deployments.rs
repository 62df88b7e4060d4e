//! Deployments.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use agentcli::api::wire::{
    AgentEnvironment, Deployment, DeploymentCreation, DeploymentPatch, DeploymentStatus, DeploymentType,
    Object, Source,
};

use super::answer::{Refusal, json_response};
use super::body::{self, Record};
use super::query::{Ids, Query};
use super::rules::Occasion;
use super::store::{self, Taken};
use super::{Shared, listener, merge, name, revisions, rules, worker};
use agentcli::api::time;

/// `GET /v2/deployments`
pub(super) async fn list(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    let mut query = Query::parse(&uri);
    let (offset, limit) = query.page(100, 20);
    let filter = Filter {
        name: query.text("name"),
        name_contains: query.text("name_contains"),
        statuses: query.list("status"),
        remote_reconciled: query.boolean("remote_reconciled"),
        tags: query.ids("tag_value_ids"),
        image_version: query.text("image_version"),
        deployment_type: query.word("deployment_type", DeploymentType::WORDS),
        agent_id: query.text("agent_id"),
        agent_environment: query.word("agent_environment", AgentEnvironment::WORDS),
        ids: query.ids("deployment_ids"),
    };
    query.done()?;
    let resources = shared.store.list(|record| filter.takes(record), offset, limit);
    let next = offset.saturating_add(resources.len());
    Ok(spoken(&shared, StatusCode::OK, &json!({ "resources": resources, "offset": next })))
}

/// A filter of deployments; all conditions must match.
struct Filter {
    name: Option<String>,
    name_contains: Option<String>,
    statuses: Option<Vec<String>>,
    remote_reconciled: Option<bool>,
    tags: Option<Vec<String>>,
    image_version: Option<String>,
    deployment_type: Option<String>,
    agent_id: Option<String>,
    agent_environment: Option<String>,
    ids: Option<Vec<String>>,
}

impl Filter {
    fn takes(&self, record: &store::Record) -> bool {
        let deployment = &record.deployment;
        let config = &deployment.source_config;
        let kind = config.deployment_type.as_ref().map(DeploymentType::word);
        let agent = |field: &str| deployment.other.get("agent").and_then(|agent| agent[field].as_str());
        self.name.as_ref().is_none_or(|name| deployment.name == *name)
            && self.name_contains.as_ref().is_none_or(|part| deployment.name.contains(part))
            && self
                .statuses
                .as_ref()
                .is_none_or(|any| any.iter().any(|word| word == deployment.status.word()))
            && self.remote_reconciled.is_none_or(|wanted| wanted == config.listener_id.is_some())
            && self.tags.as_ref().is_none_or(|any| any.iter().any(|tag| record.tags.contains(tag)))
            && self.image_version.as_ref().is_none_or(|it| deployment.image_version.as_ref() == Some(it))
            && self.deployment_type.as_ref().is_none_or(|wanted| kind == Some(wanted))
            && self.agent_id.as_deref().is_none_or(|wanted| agent("agent_id") == Some(wanted))
            && self.agent_environment.as_deref().is_none_or(|wanted| agent("environment") == Some(wanted))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&deployment.id))
    }
}

/// `POST /v2/deployments`
pub(super) async fn create(State(shared): State<Arc<Shared>>, request: Request) -> Result<Response, Refusal> {
    let Record { record, value } = body::read::<DeploymentCreation>(&shared, request).await?;
    rules::settable(&value, Occasion::Creation)?;
    let tags = tags(&record.other)?;
    let deployment = new(&shared, record)?;
    let (id, name) = (deployment.id.clone(), deployment.name.clone());
    let (source, config) = (deployment.source.clone(), deployment.source_revision_config.clone());
    let is_deployed = rules::fields(&config).iter().any(|(_, value)| value.is_some())
        || !matches!(source, Source::InternalContainer | Source::InternalSource);
    if is_deployed {
        rules::revision_config(&shared, &source, &config, &config)?;
        shared.uploads.check(&id, config.source_tarball_path.as_deref())?;
    }
    shared.store.create(deployment, tags).map_err(|taken| {
        let detail = match taken {
            Taken::Name => format!("A deployment named '{name}' already exists."),
            Taken::Agent => "The agent already has a deployment in this environment.".to_owned(),
        };
        Refusal::Plain(StatusCode::CONFLICT, detail)
    })?;
    worker::prepare(&shared, &id);
    if is_deployed {
        revisions::add(&shared, &id, source, config);
    }
    found(&shared, &id, StatusCode::CREATED)
}

/// A new deployment, without a revision.
fn new(shared: &Shared, asked: DeploymentCreation) -> Result<Deployment, Refusal> {
    let id = Uuid::new_v4().to_string();
    let name = name::of_new(&asked, &id)?;
    let agent = asked.agent.map(|agent| ("agent".to_owned(), json!(agent)));
    rules::available(shared, &asked.source)?;
    rules::source_config(shared, &asked.source, &asked.source_config, &asked.source_config)?;
    listener::check(shared, &asked.source, &asked.source_config)?;
    rules::build_on_push(&asked.source_config, &asked.source_revision_config)?;
    rules::secrets(&asked.secrets)?;
    rules::secret_references(shared, &asked.source, asked.secret_references.as_ref())?;
    let mut source_config = asked.source_config;
    merge::known(&mut source_config);
    source_config.deployment_type.get_or_insert(DeploymentType::Dev);
    let mut source_revision_config = asked.source_revision_config;
    source_revision_config.other = Object::new();
    let now = time::now_as_text();
    Ok(Deployment {
        name,
        source: asked.source,
        source_config,
        source_revision_config,
        secrets: asked.secrets,
        id,
        tenant_id: shared.tenant.clone(),
        created_at: now.clone(),
        updated_at: now,
        status: DeploymentStatus::AwaitingDatabase,
        latest_revision_id: None,
        active_revision_id: None,
        secret_references: asked.secret_references,
        image_version: None,
        other: agent.into_iter().collect(),
    })
}

/// The `tag_value_ids` of a creation, which the filter of the list uses.
fn tags(other: &Object) -> Result<Vec<String>, Refusal> {
    let Some(given) = other.get("tag_value_ids").filter(|given| !given.is_null()) else {
        return Ok(Vec::new());
    };
    let ids = given.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let ids = ids.map(|id| Some(Uuid::parse_str(id.as_str()?).ok()?.to_string()));
    let ids: Option<Vec<String>> = ids.collect();
    let wrong = || Refusal::invalid(&["body", "tag_value_ids"], "Must be a list of UUIDs.", "uuid_parsing");
    ids.filter(|_| given.is_array()).ok_or_else(wrong)
}

/// `GET /v2/deployments/{deployment_id}`
pub(super) async fn get(State(shared): State<Arc<Shared>>, ids: Ids) -> Result<Response, Refusal> {
    found(&shared, ids.get("deployment_id"), StatusCode::OK)
}

/// `PATCH /v2/deployments/{deployment_id}`
pub(super) async fn patch(
    State(shared): State<Arc<Shared>>,
    ids: Ids,
    request: Request,
) -> Result<Response, Refusal> {
    let id = ids.get("deployment_id");
    let Record { record: patch, value } = body::read::<DeploymentPatch>(&shared, request).await?;
    rules::settable(&value, Occasion::Patch)?;
    let tarball = patch.source_revision_config.as_ref().and_then(|it| it.source_tarball_path.clone());
    let latest = latest_source(&shared, id);
    let changed = shared.store.change(id, |deployment| {
        let source = revised(&shared, deployment, &patch, latest)?;
        shared.uploads.check(id, tarball.as_deref())?;
        Ok(source.map(|source| (source, deployment.source_revision_config.clone())))
    });
    let revised = changed.ok_or_else(|| missing(id))??;
    if let Some((source, config)) = revised {
        revisions::add(&shared, id, source, config);
    }
    found(&shared, id, StatusCode::OK)
}

fn latest_source(shared: &Shared, id: &str) -> Option<Source> {
    shared.store.revisions(id, |_| true, 0, 1).pop().map(|revision| revision.source)
}

/// Applies a patch; returns the source of the new revision, if it creates one.
fn revised(
    shared: &Shared,
    deployment: &mut Deployment,
    patch: &DeploymentPatch,
    latest: Option<Source>,
) -> Result<Option<Source>, Refusal> {
    let none = Default::default();
    let given = patch.source_revision_config.as_ref().unwrap_or(&none);
    let is_given = rules::fields(given).iter().any(|(_, value)| value.is_some());
    let source = match &patch.revision_source {
        Some(source) => {
            rules::revision_source(shared, &deployment.source, source)?;
            source.clone()
        }
        // New secrets alone are for what is deployed, whatever it was made from.
        None if !is_given => latest.clone().unwrap_or_else(|| deployment.source.clone()),
        None => deployment.source.clone(),
    };
    if let Some(config) = &patch.source_config {
        let whole = merge::source_config(&deployment.source_config, config);
        rules::source_config(shared, &deployment.source, config, &whole)?;
        rules::unchanged(&deployment.source_config, &whole)?;
        deployment.source_config = whole;
    }
    rules::secret_references(shared, &deployment.source, patch.secret_references.as_ref())?;
    let config = merge::revision_config(&source, &deployment.source_revision_config, given);
    if is_given || patch.revision_source.is_some() {
        rules::revision_config(shared, &source, given, &config)?;
    }
    rules::build_on_push(&deployment.source_config, &config)?;
    if let Some(secrets) = &patch.secrets {
        rules::secrets(secrets)?;
        deployment.secrets.clone_from(secrets);
    }
    if let Some(packages) = &patch.tracked_packages {
        deployment.other.insert("tracked_packages".to_owned(), json!(packages));
    }
    if patch.secret_references.is_some() {
        deployment.secret_references.clone_from(&patch.secret_references);
    }
    let is_new = is_given
        || patch.revision_source.is_some()
        || (latest.is_some() && (patch.secrets.is_some() || patch.secret_references.is_some()));
    if is_new {
        deployment.source_revision_config = config;
    }
    Ok(is_new.then_some(source))
}

/// `DELETE /v2/deployments/{deployment_id}`
pub(super) async fn delete(
    State(shared): State<Arc<Shared>>,
    ids: Ids,
    uri: Uri,
) -> Result<Response, Refusal> {
    let mut query = Query::parse(&uri);
    query.boolean("delete_tracing_project");
    query.boolean("force");
    query.done()?;
    let id = ids.get("deployment_id");
    if !shared.store.delete(id) {
        return Err(missing(id));
    }
    shared.uploads.forget(id);
    super::lock(&shared.turns).remove(id);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The deployment in its current state.
pub(super) fn found(shared: &Shared, id: &str, status: StatusCode) -> Result<Response, Refusal> {
    let deployment = shared.store.get(id).ok_or_else(|| missing(id))?;
    Ok(spoken(shared, status, &deployment))
}

/// The error of a deployment that does not exist.
pub(super) fn missing(id: &str) -> Refusal {
    Refusal::missing("Deployment", id)
}

/// A record or a page in the dialect of the service.
pub(super) fn spoken(shared: &Shared, status: StatusCode, record: &impl Serialize) -> Response {
    let mut value = json!(record);
    shared.options.vocabulary.exchange(&mut value);
    json_response(status, &value)
}
