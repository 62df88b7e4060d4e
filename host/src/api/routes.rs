//! The routes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use axum::{Extension, Router};

use agentcli::api::Vocabulary;

use super::answer::Refusal;
use super::call::Tenant;
use super::shared::Shared;
use super::{
    deployments, health, listener, logs, manifests, openapi, page, repositories, revisions, transfer,
    uploads, webhook,
};
use crate::net::connection::Seat;
use crate::net::keys;
use crate::registry;

/// The basis of the behaviour of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The specification.
    Specified,
    /// The public service; the specification does not describe it.
    Chosen,
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// The basis of its behaviour.
    pub basis: Basis,
}

/// Defines a table of routes and its router.
macro_rules! routes {
    ($(#[$about:meta])* $name:ident $table:ident $($method:ident $path:literal $basis:ident $handler:path;)*) => {
        $(#[$about])*
        pub const $name: &[Route] = &[$(
            Route { method: stringify!($method), path: $path, basis: Basis::$basis },
        )*];

        fn $table() -> Router<Arc<Shared>> {
            Router::new()$(.route($path, on(MethodFilter::$method, $handler)))*
        }
    };
}

routes! {
    /// The routes that need an API key.
    ROUTES table
    GET "/v1/integrations/forge/codehost/{integration_id}/repos" Specified repositories::list;
    GET "/v2/deployments" Specified deployments::list;
    PATCH "/v2/deployments/{deployment_id}" Specified deployments::patch;
    POST "/v2/deployments" Chosen deployments::create;
    GET "/v2/deployments/{deployment_id}" Chosen deployments::get;
    DELETE "/v2/deployments/{deployment_id}" Chosen deployments::delete;
    GET "/v2/deployments/{deployment_id}/manifests" Chosen manifests::get;
    GET "/v2/deployments/{deployment_id}/revisions" Chosen revisions::list;
    GET "/v2/deployments/{deployment_id}/revisions/{revision_id}" Chosen revisions::get;
    POST "/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy" Chosen revisions::redeploy;
    POST "/v2/deployments/{deployment_id}/revisions/{revision_id}/interruption" Chosen revisions::interrupt;
    GET "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs" Chosen logs::get;
    POST "/v2/deployments/{deployment_id}/push-token" Chosen transfer::push_token;
    POST "/v2/deployments/{deployment_id}/upload-url" Chosen transfer::upload_url;
    GET "/v2/listeners" Chosen listener::list;
    GET "/v2/listeners/{listener_id}" Chosen listener::get;
    POST "/v1/projects/{project_id}/deploy_logs" Chosen logs::server_log;
    POST "/v1/projects/{project_id}/revisions/{revision_id}/deploy_logs" Chosen logs::revision_log;
    POST "/v1/projects/{project_id}/revisions/{revision_id}/build_logs" Chosen logs::build_log;
}

routes! {
    /// The routes without an API key, except those of the registry and the page: uploads need a token, and webhooks a
    /// signature.
    OPEN_ROUTES open_table
    GET "/healthz" Chosen health::get;
    GET "/openapi.json" Chosen openapi::get;
    POST "/v1/integrations/{integration_id}/webhook" Chosen webhook::receive;
    PUT "/v2/uploads/{upload_id}" Chosen uploads::put;
}

/// The router of all routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let public = Vocabulary::Public.path(&format!("{}{{integration_id}}/repos", repositories::PATH));
    table()
        .route(&public, on(MethodFilter::GET, repositories::list))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(shared.clone(), authorized))
        .merge(open_table())
        .merge(page::router())
        .merge(registry::router(shared.distribution.clone()))
        .with_state(shared)
}

async fn authorized(
    State(shared): State<Arc<Shared>>,
    Extension(seat): Extension<Seat>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let tenant = keys::given(request.headers()).find_map(|key| shared.store.tenant_of(key).transpose());
    if let Some(tenant) = tenant.transpose()? {
        let most = shared.options.limits.per_tenant;
        if !seat.take(&shared.connections, &tenant, most) {
            let detail = format!("The tenant of this key has {most} connections, the most that it may have.");
            return Err(Refusal::Plain(StatusCode::TOO_MANY_REQUESTS, detail));
        }
        request.extensions_mut().insert(Tenant(tenant));
        return Ok(next.run(request).await);
    }
    Err(Refusal::unauthorized())
}

async fn unknown() -> Refusal {
    Refusal::Plain(StatusCode::NOT_FOUND, "Not Found".to_owned())
}

async fn wrong_method() -> Refusal {
    Refusal::Plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed".to_owned())
}
