//! The engine's description of itself.

use std::path::PathBuf;

use bollard::models::{SystemInfo, SystemVersion};

use super::connect::Engine;
use super::credentials::Credentials;
use super::error::Error;
use super::session::{Secrets, Services};

/// An engine's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Product name and version, such as `Docker 26.1.5`.
    pub name: String,
    /// Operating system and architecture of its containers.
    pub platform: String,
    /// The directory of its images, on its machine.
    pub data: Option<PathBuf>,
    /// Its clock, in ISO 8601.
    pub time: Option<String>,
}

impl Engine {
    /// The engine's description of itself.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn description(&self) -> Result<Description, Error> {
        let version = self.version().await?;
        let info = self.info().await?;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let product = if is_podman(&version) { "Podman" } else { "Docker" };
        Ok(Description {
            name: format!("{product} {}", known(&version.version)),
            platform: format!("{}/{}", known(&version.os), known(&version.arch)),
            data: info.docker_root_dir.map(PathBuf::from),
            time: info.system_time.map(|time| time.to_string()),
        })
    }

    /// Whether it is Podman, whose builds and registries work differently.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn is_podman(&self) -> Result<bool, Error> {
        Ok(is_podman(&self.version().await?))
    }

    /// Whether images are in the store of containerd, Docker's default since version 29, instead of its own.
    pub(super) async fn has_containerd_store(&self) -> Result<bool, Error> {
        let info = self.info().await?;
        let mut values = info.driver_status.into_iter().flatten().flatten();
        Ok(values.any(|value| value.starts_with("io.containerd.snapshotter")))
    }

    /// Checks that the engine opens the sessions of BuildKit. The error is a fragment.
    pub async fn supports_buildkit(&self) -> Result<(), String> {
        let services = Services::new(Credentials::default(), Secrets::default());
        services.serve(self, &super::build::session_id()).await
    }

    async fn info(&self) -> Result<SystemInfo, Error> {
        self.call("describe itself", self.docker.info()).await
    }

    pub(super) async fn version(&self) -> Result<SystemVersion, Error> {
        self.call("report its version", self.docker.version()).await
    }
}

fn is_podman(version: &SystemVersion) -> bool {
    version.components.iter().flatten().any(|component| component.name.starts_with("Podman"))
}
