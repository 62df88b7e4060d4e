//! The images of the server that a newer one has replaced: each changed build would leave one behind.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::definition::{Wanted, built_name};
use super::labels;
use super::supervise::Run;
use crate::engine::Container;

/// How long the engine may take for one: it is only tidied up.
const PATIENCE: Duration = Duration::from_secs(10);

impl Run<'_> {
    /// Remembers the image of a container that is to be replaced, where we built it for this project.
    pub(super) fn remember_replaced(&mut self, one: &Wanted, containers: &[Container]) {
        let Some(name) = built_name(&one.spec) else { return };
        let is_built = |it: &&Container| {
            it.labels.contains_key(labels::OURS) && it.labels.get(labels::BUILT) == Some(name)
        };
        let images = containers.iter().filter(is_built).filter_map(|it| it.labels.get(labels::IMAGE));
        self.replaced.extend(images.cloned());
    }

    /// Removes those that have no name any more and that nothing uses, beside whatever goes on. Only the newer server's
    /// being ready shows that nobody goes back. One that stays is no error.
    pub(super) fn remove_replaced(&mut self) -> JoinHandle<()> {
        let (engine, replaced) = (self.engine.clone(), std::mem::take(&mut self.replaced));
        tokio::spawn(async move {
            for id in replaced {
                timeout(PATIENCE, engine.remove_unnamed(&id)).await.ok();
            }
        })
    }
}
