//! How repositories are reached.

use tokio::sync::mpsc::UnboundedSender;

use super::client::Repository;
use super::error::Error;
use crate::api::RetryPolicy;
use crate::compiler::manifests::image_name::ImageName;
use crate::engine::{EngineEnv, Login, RegistrySecret, registry_and_repository, registry_secret};
use crate::live::Event;

/// The media type of an image index in the format of OCI.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The tag of a name without one.
pub(super) const LATEST: &str = "latest";

/// Credentials, patience, and the receiver of what happens on the way.
pub struct Access<'a> {
    /// The environment, for the credentials of `docker login`.
    pub env: &'a EngineEnv,
    /// A repository, such as that of a deployment, and the credentials for it.
    pub login: Option<(String, Login)>,
    /// Timeouts and retries.
    pub policy: RetryPolicy,
    /// Receives progress and warnings.
    pub events: UnboundedSender<Event>,
}

impl Access<'_> {
    /// The repository of an image name without a tag. `pushes` is whether to ask for permission to push.
    pub(super) async fn open(&self, name: &str, pushes: bool) -> Result<Repository, Error> {
        let (host, path) = registry_and_repository(name);
        let events = self.events.clone();
        let warn = move |message| _ = events.send(Event::Warning { message });
        let secret = match &self.login {
            Some((repository, login)) if repository == name => Some(RegistrySecret::Login(login.clone())),
            _ => registry_secret(self.env, name, &warn).await,
        };
        Repository::open(host, path, secret, pushes, self.policy, warn).await
    }
}

/// The parts of a name that was checked before.
pub(super) fn parsed(name: &str) -> ImageName<'_> {
    ImageName::parse(name).unwrap_or(ImageName { name, tag: None, digest: None })
}
