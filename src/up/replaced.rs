//! The images of the server that newer ones have replaced: without removal, each changed build would leave one behind.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::definition::{Definition, built_name};
use super::labels;
use super::supervise::Run;
use crate::engine::{Container, Engine};

/// Timeout for the removal of one image.
const REMOVAL: Duration = Duration::from_secs(10);

impl Run<'_> {
    /// Remembers the images of containers that are being replaced, if they were built for this project.
    pub(super) fn remember_replaced(&mut self, definition: &Definition, containers: &[Container]) {
        let Some(name) = built_name(&definition.spec) else { return };
        let is_built = |it: &&Container| {
            it.labels.contains_key(labels::OURS) && it.labels.get(labels::BUILT) == Some(name)
        };
        let images = containers.iter().filter(is_built).filter_map(|it| it.labels.get(labels::IMAGE));
        self.replaced.extend(images.cloned());
    }
}

/// Removes images in the background, except those that have a name or that a container uses. A failure is not an error.
pub fn remove_images(engine: &Engine, ids: impl IntoIterator<Item = String>) -> JoinHandle<()> {
    let (engine, ids) = (engine.clone(), ids.into_iter().collect::<Vec<_>>());
    tokio::spawn(async move {
        for id in ids {
            timeout(REMOVAL, engine.remove_unnamed(&id)).await.ok();
        }
    })
}
