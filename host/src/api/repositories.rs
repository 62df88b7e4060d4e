//! Repositories of code hosts that the operator lists.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::{Repository, Source, SourceConfig};

use super::answer::{Refusal, json_response};
use super::codehost;
use super::query::Ids;
use super::routes::Tenant;
use crate::DEFAULT_TENANT;
use crate::service::Shared;

/// Path of the repositories of an integration, in the dialect of the specification.
pub(super) const PATH: &str = "/v1/integrations/forge/codehost/";

/// Field of a record with the name of the tenant that it is for. It is not returned.
const TENANT: &str = "tenant";

/// The repositories that the operator lists, each for one tenant.
#[derive(Clone, Default)]
pub struct Repositories(Vec<(String, Repository)>);

impl Repositories {
    /// The repositories of records: a record without a `tenant` is for the default one. The error is a fragment.
    pub fn new(records: Vec<Repository>) -> Result<Self, String> {
        let owned = |mut record: Repository| {
            let wrong = || format!("{TENANT} of {} is not the name of a tenant", record.name);
            let tenant = match record.other.get(TENANT) {
                None => DEFAULT_TENANT.to_owned(),
                Some(value) => value.as_str().filter(|name| !name.is_empty()).ok_or_else(wrong)?.to_owned(),
            };
            record.other.remove(TENANT);
            Ok((tenant, record))
        };
        records.into_iter().map(owned).collect::<Result<_, _>>().map(Self)
    }

    /// All records with the names of their tenants.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (String, Repository)> {
        self.0.iter_mut()
    }

    /// The repositories of an integration for a tenant of this name.
    fn of_integration<'a>(
        &'a self,
        tenant: &'a str,
        integration: &'a str,
    ) -> impl Iterator<Item = &'a Repository> {
        let own = self.0.iter().filter(move |(owner, _)| owner == tenant).map(|(_, record)| record);
        own.filter(move |record| record.host_integration_id == integration)
    }

    /// Whether the repository of a deployment is listed for a tenant of this name.
    pub(crate) fn has(&self, tenant: &str, config: &SourceConfig) -> bool {
        let Some((integration, url)) = config.integration_id.as_ref().zip(config.repo_url.as_ref()) else {
            return false;
        };
        self.of_integration(tenant, integration).any(|record| codehost::is_same(&record.url, url))
    }
}

/// Checks that the repository of a new deployment is listed for its tenant, if this service lists any.
pub(super) fn check(
    shared: &Shared,
    tenant: &str,
    source: &Source,
    config: &SourceConfig,
) -> Result<(), Refusal> {
    let listed = &shared.options.repositories;
    if *source != Source::Codehost || listed.0.is_empty() {
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
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(Tenant(tenant)): Extension<Tenant>,
    uri: Uri,
    ids: Ids,
) -> Result<Response, Refusal> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_for_one_tenant_and_one_repository() {
        let record = |tenant: serde_json::Value, name: &str| {
            let mut record = json!({
                "host_integration_id": "i", "id": 1, "name": name, "owner": "o", "default_branch": "main",
                "url": format!("https://codehost.example/o/{name}"),
            });
            if !tenant.is_null() {
                record[TENANT] = tenant;
            }
            serde_json::from_value::<Repository>(record).unwrap()
        };
        let records = vec![record("a".into(), "one"), record(json!(null), "two")];
        let repositories = Repositories::new(records).unwrap();
        let config = |integration: &str, name: &str| SourceConfig {
            integration_id: Some(integration.to_owned()),
            repo_url: Some(format!("https://CODEHOST.example/o/{name}.git")),
            ..SourceConfig::default()
        };
        for (tenant, integration, name, expected) in [
            ("a", "i", "one", true),
            ("a", "i", "two", false),
            ("a", "j", "one", false),
            ("b", "i", "one", false),
            (DEFAULT_TENANT, "i", "two", true),
            (DEFAULT_TENANT, "i", "one", false),
        ] {
            assert_eq!(
                repositories.has(tenant, &config(integration, name)),
                expected,
                "{tenant} {integration} {name}"
            );
        }
        assert!(!json!(repositories.0[0].1).as_object().unwrap().contains_key(TENANT));
        for wrong in [json!(1), json!("")] {
            assert!(Repositories::new(vec![record(wrong, "one")]).is_err());
        }
    }
}
