//! The registry and its state.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use agentcli::api::wire::{Deployment, Source};
use agentcli::engine;
use ring::hmac;
use ring::rand::SystemRandom;

use super::blobs::{Blobs, Uploads};
use super::external::Registry;
use crate::net::keys;
use crate::net::limits::Limits;
use crate::runner::PullFrom;
use crate::store::{Broken, Digest, Store, Tx};

/// The first part of the names of all repositories. It keeps them apart from the other routes below `/v2`.
pub(super) const NAMESPACE: &str = "images";

/// The registry.
pub(crate) struct Distribution {
    pub(super) store: Arc<Store>,
    pub(super) limits: Limits,
    /// The registry that is used instead, if one was given.
    other: Option<Registry>,
    /// The address of the service.
    address: SocketAddr,
    /// Makes the credentials of this host's own pulls, which are nowhere stored.
    pub(super) key: hmac::Key,
    pub(super) blobs: Arc<Blobs>,
    pub(super) uploads: Uploads,
}

impl Distribution {
    /// The registry in the data directory of `store`, without the uploads that a kill cut off. The error is a fragment.
    pub(crate) fn new(
        store: Arc<Store>,
        address: SocketAddr,
        other: Option<Registry>,
        limits: Limits,
    ) -> Result<Self, String> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        let key = key.map_err(|_| "the system has no random numbers".to_owned())?;
        let blobs = Arc::new(Blobs::new(store.registry(), limits.registry));
        blobs.remove_uploads();
        let uploads = Uploads::new(limits.registry.unused);
        Ok(Self { store, limits, other, address, key, blobs, uploads })
    }

    /// A new push token for the repository of a deployment.
    pub(crate) async fn push_token(&self, deployment: &str) -> Result<String, Broken> {
        let token = keys::token();
        let deployment = deployment.to_owned();
        let valid = self.limits.registry.token;
        let new = token.clone();
        self.store.change(move |tx| tx.add_push_token(&deployment, &new, valid)).await?;
        Ok(token)
    }

    /// The image of a revision as the engine is to pull it, and where from. An image that was pushed here is pulled from this
    /// address, by whichever name it was pushed.
    pub(crate) fn pull(&self, deployment: &Deployment, image: &str) -> Result<(String, PullFrom), Broken> {
        if let Some(other) = &self.other {
            let from = if other.holds(image) { PullFrom::Replacement } else { PullFrom::Elsewhere };
            return Ok((image.to_owned(), from));
        }
        Ok(match self.store.read(|tx| pushed(tx, deployment, image))? {
            Some((host, path)) => {
                let host = self.engine_host().unwrap_or_else(|| host.to_owned());
                (format!("{host}/{path}"), PullFrom::Host(self.login(&deployment.id)))
            }
            None => (image.to_owned(), PullFrom::Elsewhere),
        })
    }

    /// The names of the images of a deleted deployment that clients on this machine may have pushed from the engine.
    pub(crate) fn pushed_names(&self, name: &str, tags: &[String]) -> Vec<String> {
        let host = self.engine_host().filter(|_| self.other.is_none());
        tags.iter().filter_map(|tag| Some(format!("{}/{NAMESPACE}/{name}:{tag}", host.as_ref()?))).collect()
    }

    /// The host by which the engine of this machine reaches the service; none if it listens on another address, which an
    /// engine trusts with TLS only.
    fn engine_host(&self) -> Option<String> {
        let address = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        address.is_loopback().then(|| SocketAddr::new(address, self.address.port()).to_string())
    }

    /// Whether a host of an image is this service under one of its addresses. It may have other names.
    fn is_own(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let ip: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let is_here = name == "localhost" || ip.is_some_and(|ip| ip.is_loopback() || ip == self.address.ip());
        is_here && port.parse() == Ok(self.address.port())
    }

    /// Whether a revision from `source` would run an image of this registry that is not in the repository of its deployment;
    /// returns where it has to be.
    pub(crate) fn missing_image(
        &self,
        tx: &Tx<'_>,
        deployment: &Deployment,
        source: &Source,
    ) -> Result<Option<String>, Broken> {
        let Some(image) = &deployment.source_revision_config.image_uri else { return Ok(None) };
        let host = image.split_once('/').map_or("", |(host, _)| host);
        let is_here = *source == Source::InternalContainer && self.other.is_none() && self.is_own(host);
        if !is_here || pushed(tx, deployment, image)?.is_some() {
            return Ok(None);
        }
        Ok(Some(format!("{host}/{}", repository(&deployment.name))))
    }

    /// Credentials for this host's own pulls of the images of a deployment.
    fn login(&self, deployment: &str) -> engine::Login {
        let signature = hmac::sign(&self.key, deployment.as_bytes());
        engine::Login { user: deployment.to_owned(), password: hex::encode(signature) }
    }
}

/// The host and the path of an image that was pushed to this registry for a deployment.
fn pushed<'a>(
    tx: &Tx<'_>,
    deployment: &Deployment,
    image: &'a str,
) -> Result<Option<(&'a str, &'a str)>, Broken> {
    let Some((host, path)) = image.split_once('/') else { return Ok(None) };
    let repository = repository(&deployment.name);
    let digest = path.strip_prefix(&repository).and_then(|rest| rest.strip_prefix('@'));
    match digest.and_then(Digest::parse) {
        Some(digest) if tx.manifest(&deployment.id, digest.as_str())?.is_some() => Ok(Some((host, path))),
        _ => Ok(None),
    }
}

/// Name of the repository of a deployment.
pub(super) fn repository(name: &str) -> String {
    format!("{NAMESPACE}/{name}")
}

/// The prefix of all repositories, and the repository of a deployment, for a client that reaches this service at `host`.
pub(crate) fn addresses(host: &str, name: &str) -> (String, String) {
    // A host without a dot or a port would be the first part of a name in the engine's default registry.
    let is_host = host == "localhost" || host.contains(['.', ':']);
    let host = if is_host { host.to_owned() } else { format!("{host}:443") };
    (format!("{host}/{NAMESPACE}"), format!("{host}/{}", repository(name)))
}
