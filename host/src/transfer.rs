//! Transfer of images and archives: credentials for the registry, and upload addresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::{
    Object, PushToken, PushTokenRequest, Redacted, Source, UploadUrl, UploadUrlRequest,
};

use super::answer::{Refusal, json_response};
use super::query::Ids;
use super::routes::Tenant;
use super::{Shared, body, deployments, uploads};

/// Content type of archives.
pub(super) const ARCHIVE: &str = "application/gzip";

/// User name for a registry without credentials.
const ANYBODY: &str = "anonymous";

/// `POST /v2/deployments/{deployment_id}/push-token`
pub(super) async fn push_token(
    State(shared): State<Arc<Shared>>,
    Extension(Tenant(tenant)): Extension<Tenant>,
    ids: Ids,
    request: Request,
) -> Result<Response, Refusal> {
    body::read::<PushTokenRequest>(&shared, request).await?;
    let id = ids.get("deployment_id");
    let deployment = shared.store.read(|tx| deployments::find(tx, &tenant, id))?;
    if deployment.source != Source::InternalContainer {
        let word = shared.word(&Source::InternalContainer);
        return Err(Refusal::bad(format!("Push tokens are only available for '{word}' source deployments.")));
    }
    let Some(registry) = &shared.options.registry else {
        return Err(Refusal::bad("This service has no registry; it was started without --registry."));
    };
    let login = registry.login();
    let token = PushToken {
        token: login.map_or_else(|| Redacted::new(ANYBODY), |login| login.password.clone()),
        registry_url: registry.address(),
        username: Some(login.map_or(ANYBODY, |login| &login.username).to_owned()),
        repository_url: Some(registry.repository(&deployment.name)),
        other: Object::new(),
    };
    Ok(json_response(StatusCode::OK, &json!(token)))
}

/// `POST /v2/deployments/{deployment_id}/upload-url`
pub(super) async fn upload_url(
    State(shared): State<Arc<Shared>>,
    Extension(Tenant(tenant)): Extension<Tenant>,
    ids: Ids,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    let asked = body::read::<UploadUrlRequest>(&shared, request).await?.record;
    let id = ids.get("deployment_id");
    let deployment = shared.store.read(|tx| deployments::find(tx, &tenant, id))?;
    if deployment.source == Source::ExternalContainer {
        let word = shared.word(&deployment.source);
        return Err(Refusal::bad(format!("Uploads are not available for '{word}' source deployments.")));
    }
    let upload = uploads::expect(&shared.store, id).await?;
    // A client behind a proxy uploads through the same proxy.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    let host = host.filter(|host| is_authority(host)).unwrap_or_else(|| shared.address.to_string());
    let kind = [(header::CONTENT_TYPE.to_string(), Redacted::new(ARCHIVE))];
    let url = format!("{}://{host}/v2/uploads/{}?token={}", shared.scheme(), upload.id, upload.token);
    let answer = UploadUrl {
        upload_url: Redacted::new(url),
        object_path: upload.path,
        upload_headers: (asked.supports_upload_headers == Some(true)).then(|| BTreeMap::from(kind)),
        other: Object::new(),
    };
    Ok(json_response(StatusCode::OK, &json!(answer)))
}

fn is_authority(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c))
}
