//! The registry of this host, which images of deployments are pushed to: the part of the OCI distribution specification that
//! pushes and pulls need.
//!
//! The repository of a deployment is `images/NAME`. Blobs are files in a directory for each deployment, named by their
//! digest, and appear there when they are whole, verified and on the disk; manifests and tags are in the database. A push
//! token gives access to one repository.

mod access;
mod blobs;
mod digest;
mod external;
mod fault;
mod inspect;
mod manifests;
mod parse;
mod routes;
mod sweep;
mod uploads;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agentcli::api::wire::{Deployment, Source};
use agentcli::engine;
use ring::hmac;
use ring::rand::SystemRandom;

use crate::api::answer::Refusal;
use crate::net::keys;
use crate::runner::PullFrom;
use crate::service::Shared;
use crate::store::{Broken, Store, Tx};

use blobs::Blobs;
pub(crate) use digest::Digest;
pub(crate) use external::is_digest;
pub use external::{Login, Registry};
pub(crate) use inspect::{named_blobs, problems};
pub(super) use routes::router;
use uploads::Uploads;

/// The first part of the names of all repositories. It keeps them apart from the other routes below `/v2`.
const NAMESPACE: &str = "images";

/// Limits of the registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// Maximum size of a blob, in bytes.
    pub blob: u64,
    /// Maximum size of all blobs of a deployment, in bytes.
    pub repository: u64,
    /// Validity of a push token.
    pub token: Duration,
    /// Time after which uploads that do not go on are removed, and blobs and manifests that no revision needs.
    pub unused: Duration,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self { blob: 5 << 30, repository: 20 << 30, token: hour, unused: hour }
    }
}

/// The registry.
pub(super) struct Distribution {
    store: Arc<Store>,
    limits: RegistryLimits,
    /// The registry that is used instead, if one was given.
    other: Option<Registry>,
    /// The address of the service.
    address: SocketAddr,
    /// Makes the credentials of this host's own pulls, which are nowhere stored.
    key: hmac::Key,
    blobs: Arc<Blobs>,
    uploads: Uploads,
}

impl Distribution {
    /// The registry in the data directory of `store`, without the uploads that a kill cut off. The error is a fragment.
    pub(super) fn new(
        store: Arc<Store>,
        address: SocketAddr,
        other: Option<Registry>,
        limits: RegistryLimits,
    ) -> Result<Self, String> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        let key = key.map_err(|_| "the system has no random numbers".to_owned())?;
        let blobs = Arc::new(Blobs::new(store.registry(), limits));
        blobs.remove_uploads();
        let uploads = Uploads::new(limits.unused);
        Ok(Self { store, limits, other, address, key, blobs, uploads })
    }

    /// A new push token for the repository of a deployment.
    pub(super) async fn push_token(&self, deployment: &str) -> Result<String, Broken> {
        let (token, deployment, valid) = (keys::token(), deployment.to_owned(), self.limits.token);
        let new = token.clone();
        self.store.change(move |tx| tx.add_push_token(&deployment, &new, valid)).await?;
        Ok(token)
    }

    /// The image of a revision as the engine is to pull it, and where from. An image that was pushed here is pulled from this
    /// address, by whichever name it was pushed.
    pub(super) fn pull(&self, deployment: &Deployment, image: &str) -> Result<(String, PullFrom), Broken> {
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
    pub(super) fn pushed_names(&self, name: &str, tags: &[String]) -> Vec<String> {
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

    /// Credentials for this host's own pulls of the images of a deployment.
    fn login(&self, deployment: &str) -> engine::Login {
        let signature = hmac::sign(&self.key, deployment.as_bytes());
        engine::Login { user: deployment.to_owned(), password: hex::encode(signature) }
    }
}

/// Fails if a revision would run an image of this registry that is not in the repository of its deployment.
pub(super) fn check(
    shared: &Shared,
    tx: &Tx<'_>,
    deployment: &Deployment,
    source: &Source,
) -> Result<(), Refusal> {
    let Some(image) = &deployment.source_revision_config.image_uri else { return Ok(()) };
    let host = image.split_once('/').map_or("", |(host, _)| host);
    let registry = &shared.distribution;
    if *source != Source::InternalContainer || registry.other.is_some() || !registry.is_own(host) {
        return Ok(());
    }
    if pushed(tx, deployment, image)?.is_some() {
        return Ok(());
    }
    Err(Refusal::bad(format!(
        "source_revision_config.image_uri must be a digest in {host}/{NAMESPACE}/{}, and it is not there, or not any more; \
         push the image first.",
        deployment.name
    )))
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
fn repository(name: &str) -> String {
    format!("{NAMESPACE}/{name}")
}

/// The prefix of all repositories, and the repository of a deployment, for a client that reaches this service at `host`.
pub(super) fn addresses(host: &str, name: &str) -> (String, String) {
    // A host without a dot or a port would be the first part of a name in the engine's default registry.
    let is_host = host == "localhost" || host.contains(['.', ':']);
    let host = if is_host { host.to_owned() } else { format!("{host}:443") };
    (format!("{host}/{NAMESPACE}"), format!("{host}/{}", repository(name)))
}
