//! The files of an image, without running anything of it.

use bollard::models::ContainerCreateBody;
use bollard::query_parameters::CreateContainerOptions;
use bytes::Bytes;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use tokio::sync::mpsc::Sender;

use super::connect::Engine;
use super::error::Error;
use crate::live::Stop;

/// A local image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageDetails {
    /// Its ID, `sha256:` and 64 hexadecimal digits.
    pub id: String,
    /// Its platform, such as `linux/amd64`.
    pub platform: Option<String>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// The digests of its layers before compression.
    pub layers: Vec<String>,
    /// Its names in registries with digests, as far as the engine knows them.
    pub digests: Vec<String>,
}

impl ImageDetails {
    /// Whether this image was built on `base`.
    pub fn is_on(&self, base: &Self) -> bool {
        !base.layers.is_empty() && self.layers.starts_with(&base.layers)
    }
}

impl Engine {
    /// A local image; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn image_details(&self, name: &str) -> Result<Option<ImageDetails>, Error> {
        let Some(image) = self.inspect_image(name).await? else { return Ok(None) };
        let known = |part: Option<String>| part.filter(|part| !part.is_empty());
        let platform = known(image.os).zip(known(image.architecture));
        Ok(Some(ImageDetails {
            id: image.id.unwrap_or_default(),
            platform: platform.map(|(os, architecture)| format!("{os}/{architecture}")),
            created: image.created.and_then(|time| time.to_string().parse().ok()),
            layers: image.root_fs.and_then(|files| files.layers).unwrap_or_default(),
            digests: image.repo_digests.unwrap_or_default(),
        }))
    }

    /// Sends the files of a local image as a tar archive, in pieces, until all are sent or nobody receives them any more. A
    /// container is created for it, never started, and removed.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects, or the program is asked to stop.
    pub async fn export(&self, image: &str, pieces: Sender<Bytes>, stop: &Stop) -> Result<(), Error> {
        // An image without a command could not be made a container.
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            cmd: Some(vec!["true".to_owned()]),
            network_disabled: Some(true),
            ..Default::default()
        };
        let create = self.docker.create_container(None::<CreateContainerOptions>, body);
        let container = self.call(&format!("create a container of `{image}`"), create).await?.id;
        let exported = stop.unless_asked(self.send_files(&container, pieces)).await;
        let removed = self.remove(&container).await;
        exported.map_err(Error::from).flatten().and(removed)
    }

    async fn send_files(&self, container: &str, pieces: Sender<Bytes>) -> Result<(), Error> {
        let (docker, allowance) = self.streaming();
        let mut archive = Box::pin(allowance.of_each(docker.export_container(container)));
        while let Some(piece) = archive.next().await {
            let piece = piece.map_err(|error| self.failed("export the files of the image", error))?;
            if pieces.send(piece).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}
