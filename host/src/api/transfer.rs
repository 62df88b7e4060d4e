//! Transfer of images and archives: credentials for the registry, and upload addresses.

use std::collections::BTreeMap;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::{
    Object, PushToken, PushTokenRequest, Redacted, Source, UploadUrl, UploadUrlRequest,
};

use super::answer::{Refusal, json_response};
use super::call::Call;
use super::shared::Shared;
use super::{body, deployments, uploads};
use crate::registry::{self, Registry};

/// User name for a push token; it does not matter.
const PUSHER: &str = "token";

/// User name for a registry without credentials.
const ANYBODY: &str = "anonymous";

/// `POST /v2/deployments/{deployment_id}/push-token`
pub(super) async fn push_token(
    Call { shared, tenant, ids }: Call,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    body::read::<PushTokenRequest>(&shared, request).await?;
    let id = ids.get("deployment_id");
    let deployment = shared.store.read(|tx| deployments::find(tx, &tenant, id))?;
    if deployment.source != Source::InternalContainer {
        let word = shared.word(&Source::InternalContainer);
        return Err(Refusal::bad(format!("Push tokens are only available for '{word}' source deployments.")));
    }
    let token = match &shared.options.registry {
        Some(registry) => token_of(registry, &deployment.name),
        None => {
            let token = shared.distribution.push_token(id).await?;
            let host = host(&shared, &headers);
            let (registry_url, repository) = registry::addresses(&host, &deployment.name);
            PushToken {
                token: Redacted::new(token),
                registry_url,
                username: Some(PUSHER.to_owned()),
                repository_url: Some(repository),
                other: Object::new(),
            }
        }
    };
    Ok(json_response(StatusCode::OK, &json!(token)))
}

/// The login of another registry, which all deployments share.
fn token_of(registry: &Registry, deployment: &str) -> PushToken {
    let login = registry.login();
    PushToken {
        token: login.map_or_else(|| Redacted::new(ANYBODY), |login| login.password.clone()),
        registry_url: registry.address(),
        username: Some(login.map_or(ANYBODY, |login| &login.username).to_owned()),
        repository_url: Some(registry.repository(deployment)),
        other: Object::new(),
    }
}

/// `POST /v2/deployments/{deployment_id}/upload-url`
pub(super) async fn upload_url(
    Call { shared, tenant, ids }: Call,
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
    let upload = uploads::expect(&shared.store, &tenant, id).await?;
    let host = host(&shared, &headers);
    let kind = [(header::CONTENT_TYPE.to_string(), Redacted::new(uploads::ARCHIVE))];
    let url = format!("{}://{host}/v2/uploads/{}?token={}", shared.scheme(), upload.id, upload.token);
    let answer = UploadUrl {
        upload_url: Redacted::new(url),
        object_path: upload.path,
        upload_headers: (asked.supports_upload_headers == Some(true)).then(|| BTreeMap::from(kind)),
        other: Object::new(),
    };
    Ok(json_response(StatusCode::OK, &json!(answer)))
}

/// The host by which the client reaches the service: behind a proxy, uploads and pushes go through it, too.
fn host(shared: &Shared, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    host.filter(|host| is_authority(host)).unwrap_or_else(|| shared.address.to_string())
}

fn is_authority(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c))
}
