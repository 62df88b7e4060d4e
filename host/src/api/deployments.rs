//! Deployments.

use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use agentcli::api::wire::{
    AgentEnvironment, Deployment, DeploymentCreation, DeploymentPatch, DeploymentStatus, DeploymentType,
    Object, Source,
};

use super::answer::{Refusal, page, spoken};
use super::body::{self, ParsedBody};
use super::call::Call;
use super::query::Query;
use super::rules::Occasion;
use super::shared::Shared;
use super::{listener, merge, name, repositories, rules, uploads};
use crate::net::host_name::HostName;
use crate::store::quota::Quota;
use crate::store::{Conflict, Selection, Tx};
use agentcli::api::time;

/// `GET /v2/deployments`
pub(super) async fn list(Call { shared, tenant, .. }: Call, uri: Uri) -> Result<Response, Refusal> {
    let mut query = Query::parse(&uri);
    let (offset, limit) = query.page(100, 20);
    let selection = Selection {
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
    let resources = shared.store.read(|tx| tx.deployments(&tenant, &selection, offset, limit));
    let mut resources = resources.map_err(Refusal::from)?;
    resources.iter_mut().for_each(|deployment| complete(&shared, deployment));
    Ok(page(shared.options.vocabulary, offset, resources))
}

/// `POST /v2/deployments`
pub(super) async fn create(Call { shared, tenant, .. }: Call, request: Request) -> Result<Response, Refusal> {
    let ParsedBody { record, value } = body::read::<DeploymentCreation>(&shared, request).await?;
    rules::settable(&value, Occasion::Creation)?;
    let tags = tags(&record.other)?;
    let deployment = new(&shared, tenant, record)?;
    let (source, config) = (&deployment.source, &deployment.source_revision_config);
    let is_deployed = rules::fields(config).iter().any(|(_, value)| value.is_some())
        || !matches!(source, Source::InternalContainer | Source::InternalSource);
    if is_deployed {
        rules::revision_config(&shared, source, config, config)?;
    }
    let service = shared.clone();
    let created = shared.store.change(move |tx| insert(&service, tx, deployment, &tags, is_deployed)).await?;
    shared.wake.notify_one();
    Ok(shown(&shared, StatusCode::CREATED, &created))
}

/// Fails if another deployment has the host of the `custom_url`.
fn check_url(tx: &Tx<'_>, deployment: &Deployment) -> Result<(), Refusal> {
    let url = deployment.source_config.custom_url.as_ref();
    match url.and_then(|url| HostName::of_url(url)) {
        Some(host) if tx.is_host_used(&deployment.id, &host)? => {
            let detail = "source_config.custom_url is in use.".to_owned();
            Err(Refusal::Plain(StatusCode::CONFLICT, detail))
        }
        _ => Ok(()),
    }
}

/// The use of the quotas of a tenant before a change of its deployments.
struct Before {
    tenant: String,
    used: [(Quota, u64); 2],
}

impl Before {
    fn read(tx: &Tx<'_>, tenant: &str) -> Result<Self, Refusal> {
        let used = |quota| tx.used(tenant, quota).map(|used| (quota, used));
        let used = [used(Quota::Deployments)?, used(Quota::Replicas)?];
        Ok(Self { tenant: tenant.to_owned(), used })
    }

    /// Fails if the change exceeds a quota.
    fn check(&self, tx: &Tx<'_>) -> Result<(), Refusal> {
        for (quota, before) in self.used {
            if let Some(exceeded) = tx.exceeded(&self.tenant, quota, before)? {
                return Err(exceeded.into());
            }
        }
        Ok(())
    }
}

/// Adds a deployment, and its first revision if it is to be deployed.
fn insert(
    shared: &Shared,
    tx: &Tx<'_>,
    mut deployment: Deployment,
    tags: &[String],
    is_deployed: bool,
) -> Result<Deployment, Refusal> {
    check_url(tx, &deployment)?;
    let quotas = Before::read(tx, &deployment.tenant_id)?;
    if let Some(taken) = tx.create(&deployment, tags)? {
        let detail = match taken {
            Conflict::Name => format!("A deployment named '{}' already exists.", deployment.name),
            Conflict::Agent => "The agent already has a deployment in this environment.".to_owned(),
        };
        return Err(Refusal::Plain(StatusCode::CONFLICT, detail));
    }
    quotas.check(tx)?;
    if is_deployed {
        let config = &deployment.source_revision_config;
        uploads::check(tx, &deployment.id, config.source_tarball_path.as_deref())?;
        let source = deployment.source.clone();
        rules::pushed_image(shared, tx, &deployment, &source)?;
        tx.add_revision(&mut deployment, source, None)?;
    }
    tx.deployment(&deployment.tenant_id, &deployment.id)?.ok_or_else(|| missing(&deployment.id))
}

/// A new deployment, without a revision.
fn new(shared: &Shared, tenant: String, asked: DeploymentCreation) -> Result<Deployment, Refusal> {
    let id = Uuid::new_v4().to_string();
    let name = name::of_new(&asked, &id)?;
    let agent = asked.agent.map(|agent| ("agent".to_owned(), json!(agent)));
    rules::available(shared, &asked.source)?;
    rules::source_config(shared, &asked.source, &asked.source_config, &asked.source_config)?;
    listener::check(shared, &asked.source, &asked.source_config)?;
    repositories::check(shared, &tenant, &asked.source, &asked.source_config)?;
    rules::build_on_push(&asked.source_config, &asked.source_revision_config)?;
    rules::secrets(&asked.secrets, &[])?;
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
        tenant_id: tenant,
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
pub(super) async fn get(Call { shared, tenant, ids }: Call) -> Result<Response, Refusal> {
    let deployment = shared.store.read(|tx| find(tx, &tenant, ids.get("deployment_id")))?;
    Ok(shown(&shared, StatusCode::OK, &deployment))
}

/// `PATCH /v2/deployments/{deployment_id}`
pub(super) async fn patch(Call { shared, tenant, ids }: Call, request: Request) -> Result<Response, Refusal> {
    let id = ids.get("deployment_id").to_owned();
    let ParsedBody { record: patch, value } = body::read::<DeploymentPatch>(&shared, request).await?;
    rules::settable(&value, Occasion::Patch)?;
    let service = shared.clone();
    let deployment =
        shared.store.change(move |tx| apply(&service, tx, find(tx, &tenant, &id)?, &patch)).await?;
    shared.wake.notify_one();
    Ok(shown(&shared, StatusCode::OK, &deployment))
}

/// Applies a patch, and adds a revision if it creates one.
fn apply(
    shared: &Shared,
    tx: &Tx<'_>,
    mut deployment: Deployment,
    patch: &DeploymentPatch,
) -> Result<Deployment, Refusal> {
    let latest = tx.latest(&deployment.id)?.map(|revision| revision.source);
    let source = revised(shared, &mut deployment, patch, latest)?;
    if patch.secrets.is_some() {
        tx.keep_values(&mut deployment)?;
    }
    let tarball = patch.source_revision_config.as_ref().and_then(|it| it.source_tarball_path.as_deref());
    uploads::check(tx, &deployment.id, tarball)?;
    check_url(tx, &deployment)?;
    let quotas = Before::read(tx, &deployment.tenant_id)?;
    tx.save(&mut deployment)?;
    quotas.check(tx)?;
    if let Some(source) = source {
        rules::pushed_image(shared, tx, &deployment, &source)?;
        tx.add_revision(&mut deployment, source, None)?;
    }
    find(tx, &deployment.tenant_id, &deployment.id)
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
        rules::secrets(secrets, &deployment.secrets)?;
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
pub(super) async fn delete(Call { shared, tenant, ids }: Call, uri: Uri) -> Result<Response, Refusal> {
    let mut query = Query::parse(&uri);
    query.boolean("delete_tracing_project");
    query.boolean("force");
    query.done()?;
    let id = ids.get("deployment_id").to_owned();
    shared.store.change(move |tx| if tx.delete(&tenant, &id)? { Ok(()) } else { Err(missing(&id)) }).await?;
    shared.wake.notify_one();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A deployment of a tenant.
pub(super) fn find(tx: &Tx<'_>, tenant: &str, id: &str) -> Result<Deployment, Refusal> {
    tx.deployment(tenant, id)?.ok_or_else(|| missing(id))
}

/// A deployment as a response.
pub(super) fn shown(shared: &Shared, status: StatusCode, deployment: &Deployment) -> Response {
    let mut record = json!(deployment);
    complete(shared, &mut record);
    spoken(shared.options.vocabulary, status, record)
}

/// Gives the record of a deployment what is not stored: that its secrets can be kept, and its address, unless the user sets that.
fn complete(shared: &Shared, record: &mut Value) {
    record[Deployment::MERGES_SECRETS] = Value::Bool(true);
    if record["source"] != json!(Source::ExternalContainer) {
        let name = record["name"].as_str().unwrap_or_default();
        let url = format!("{}://{name}.localhost:{}", shared.scheme(), shared.proxy.port());
        record["source_config"]["custom_url"] = Value::String(url);
    }
}

/// The error of a deployment that does not exist, or belongs to another tenant.
fn missing(id: &str) -> Refusal {
    Refusal::missing("Deployment", id)
}
