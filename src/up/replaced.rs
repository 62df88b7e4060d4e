//! The images of the server that newer ones have replaced: without removal, each changed build would leave one behind.

use std::collections::HashSet;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::definition::Definition;
use super::labels;
use crate::engine::{Container, Engine};
use crate::live::Stop;

/// Timeout for the removal of one image.
const REMOVAL: Duration = Duration::from_secs(10);

/// Images that newer ones have replaced, until they are removed.
#[derive(Default)]
pub struct Replaced {
    ids: HashSet<String>,
    removals: JoinSet<()>,
}

impl Replaced {
    /// Adds the images of containers that are being replaced, if they were built for this project.
    pub(super) fn remember(&mut self, definition: &Definition, containers: &[Container]) {
        let Some(name) = &definition.built else { return };
        let is_built = |it: &&Container| {
            it.labels.contains_key(labels::OURS) && it.labels.get(labels::BUILT) == Some(name)
        };
        let images = containers.iter().filter(is_built).filter_map(|it| it.labels.get(labels::IMAGE));
        self.extend(images.cloned());
    }

    /// Adds images by their IDs.
    pub fn extend(&mut self, ids: impl IntoIterator<Item = String>) {
        self.ids.extend(ids);
    }

    /// Removes the images in the background, except those that have a name or that a container uses. A failure is not an
    /// error.
    pub fn remove(&mut self, engine: &Engine) {
        for id in self.ids.drain() {
            let engine = engine.clone();
            self.removals.spawn(async move {
                timeout(REMOVAL, engine.remove_unnamed(&id)).await.ok();
            });
        }
    }

    /// Removes the images, and waits until that is done or the program is forced to stop.
    pub async fn finish(mut self, engine: &Engine, stop: &Stop) {
        self.remove(engine);
        stop.unless_forced(self.removals.join_all()).await.ok();
    }
}
