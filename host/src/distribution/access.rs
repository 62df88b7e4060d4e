//! Who may push to and pull from a repository.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use super::fault::Fault;
use super::{Distribution, Shared};
use crate::keys;

/// The repository of a request, which its credentials permit to use.
pub(super) struct Access {
    /// ID of the deployment.
    pub(super) deployment: String,
    /// Name of the deployment.
    pub(super) name: String,
}

/// Credentials of a repository, which may not be that of the request.
pub(super) struct Holder {
    /// ID of the deployment.
    deployment: String,
    may_push: bool,
}

impl FromRequestParts<Arc<Shared>> for Holder {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Fault> {
        shared.distribution.holder(&parts.headers)?.ok_or_else(Fault::unauthorized)
    }
}

impl FromRequestParts<Arc<Shared>> for Access {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Fault> {
        let holder = Holder::from_request_parts(parts, shared).await?;
        let name = param(parts, "name").await?;
        // Whether another repository exists is not told.
        let named = shared.store.read(|tx| tx.deployment_named(&name))?;
        let reads = [Method::GET, Method::HEAD].contains(&parts.method);
        if named.as_ref() == Some(&holder.deployment) && (reads || holder.may_push) {
            return Ok(Self { deployment: holder.deployment, name });
        }
        Err(Fault::denied())
    }
}

/// A parameter of the path.
pub(super) async fn param(parts: &mut Parts, name: &str) -> Result<String, Fault> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params = params.map_err(|_| Fault::bad("NAME_INVALID", "The path is not UTF-8."))?;
    let value = params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    Ok(value.unwrap_or_default())
}

impl Distribution {
    /// Whose credentials a request has: those of a push token, or this host's own for a pull.
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
        let digits: Vec<Option<u8>> = password
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let signature: Option<Vec<u8>> = digits.into_iter().collect();
        signature.is_some_and(|it| hmac::verify(&self.key, deployment.as_bytes(), &it).is_ok())
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
