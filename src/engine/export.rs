//! The files of an image, without running anything of it.

use std::io::{self, Read};
use std::thread;

use bollard::models::ContainerCreateBody;
use bollard::query_parameters::CreateContainerOptions;
use bytes::{Buf as _, Bytes};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::connect::Engine;
use super::error::Error;
use crate::live::Stop;

/// Number of pieces of an archive in flight.
const CAPACITY: usize = 16;

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

    /// Reads the files of a local image as a tar archive with `read`, on a thread of its own. A container is created for
    /// it, never started, and removed.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects, or the program is asked to stop. The inner error is that of `read`.
    pub async fn read_files<T: Send + 'static>(
        &self,
        image: &str,
        stop: &Stop,
        read: impl FnOnce(Files) -> io::Result<T> + Send + 'static,
    ) -> Result<io::Result<T>, Error> {
        // An image without a command could not be made a container.
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            cmd: Some(vec!["true".to_owned()]),
            network_disabled: Some(true),
            ..Default::default()
        };
        let create = self.docker.create_container(None::<CreateContainerOptions>, body);
        let container = self.call(&format!("create a container of `{image}`"), create).await?.id;
        let (sender, pieces) = mpsc::channel(CAPACITY);
        let files = Files { pieces, current: Bytes::new() };
        let reader = thread::spawn(move || read(files));
        let sent = stop.unless_asked(self.send_files(&container, sender)).await;
        let removed = self.remove(&container).await;
        let read = reader.join().unwrap_or_else(|_| Err(io::Error::other("the reader panicked")));
        sent.map_err(Error::from).flatten().and(removed).map(|()| read)
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

/// The files of an image as a tar archive.
#[derive(Debug)]
pub struct Files {
    pieces: Receiver<Bytes>,
    current: Bytes,
}

impl Read for Files {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
