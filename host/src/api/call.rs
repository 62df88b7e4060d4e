//! The requests of tenants.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::answer::Refusal;
use super::query::Ids;
use super::shared::Shared;

/// UUID of the tenant whose key a request has.
#[derive(Clone)]
pub(super) struct Tenant(pub(super) String);

/// A request of a tenant, and the resources that its path names.
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    /// UUID of the tenant.
    pub(super) tenant: String,
    pub(super) ids: Ids,
}

impl FromRequestParts<Arc<Shared>> for Call {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Refusal> {
        let tenant = parts.extensions.get::<Tenant>().cloned();
        let Tenant(tenant) = tenant.ok_or_else(Refusal::unauthorized)?;
        Ok(Self { shared: shared.clone(), tenant, ids: Ids::from_request_parts(parts, shared).await? })
    }
}
