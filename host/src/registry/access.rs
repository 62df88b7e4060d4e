//! Authorization of pushes and pulls.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use super::distribution::Distribution;
use super::fault::Fault;
use crate::net::keys;

/// The repository of a request, which its credentials permit to use.
pub(super) struct Access {
    /// ID of the deployment.
    pub(super) deployment: String,
    /// Name of the deployment.
    pub(super) name: String,
    /// The rest of the path: a digest, the reference of a manifest, or the ID of an upload; empty without one.
    pub(super) object: String,
}

/// Credentials of a repository, which may not be that of the request.
pub(super) struct Holder {
    /// ID of the deployment.
    deployment: String,
    may_push: bool,
}

impl FromRequestParts<Arc<Distribution>> for Holder {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Distribution>) -> Result<Self, Fault> {
        registry.holder(&parts.headers)?.ok_or_else(Fault::unauthorized)
    }
}

impl FromRequestParts<Arc<Distribution>> for Access {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Distribution>) -> Result<Self, Fault> {
        let holder = Holder::from_request_parts(parts, registry).await?;
        let params = RawPathParams::from_request_parts(parts, registry).await;
        let params = params.map_err(|_| Fault::bad("NAME_INVALID", "The path is not UTF-8."))?;
        let mut values = params.iter().map(|(_, value)| value.to_owned());
        let (name, object) = (values.next().unwrap_or_default(), values.next().unwrap_or_default());
        // Whether another repository exists is not told.
        let named = registry.store.read(|tx| tx.deployment_named(&name))?;
        let reads = [Method::GET, Method::HEAD].contains(&parts.method);
        if named.as_ref() == Some(&holder.deployment) && (reads || holder.may_push) {
            return Ok(Self { deployment: holder.deployment, name, object });
        }
        Err(Fault::denied())
    }
}

impl Distribution {
    /// The holder of the credentials in a request: of a push token, or of this host's own login for pulls.
    fn holder(&self, headers: &HeaderMap) -> Result<Option<Holder>, Fault> {
        let Some((user, password)) = credentials(headers) else { return Ok(None) };
        if self.is_login(&user, &password) {
            return Ok(Some(Holder { deployment: user, may_push: false }));
        }
        let deployment = self.store.read(|tx| tx.push_token(&password))?;
        Ok(deployment.map(|deployment| Holder { deployment, may_push: true }))
    }

    /// Whether these are the credentials that [`Distribution::login`] makes.
    fn is_login(&self, deployment: &str, password: &str) -> bool {
        let signature = hex::decode(password);
        signature.is_ok_and(|it| hmac::verify(&self.key, deployment.as_bytes(), &it).is_ok())
    }
}

/// User name and password of a request, or a token without a user.
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("basic") {
        let decoded = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
        let (user, password) = decoded.split_once(':')?;
        return Some((user.to_owned(), password.to_owned()));
    }
    let token = keys::given(headers).next()?;
    Some((String::new(), std::str::from_utf8(token).ok()?.to_owned()))
}
