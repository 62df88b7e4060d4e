//! Changes of the engine's objects. Each is completed even if the caller is cancelled, so that it is known what exists when
//! everything is stopped.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use tokio::time::timeout;

/// Changes that are under way.
#[derive(Clone, Default)]
pub(super) struct Changes(Arc<RwLock<()>>);

impl Changes {
    /// Makes `change`, also if the caller is cancelled.
    pub(super) async fn complete<T: Send + 'static>(
        &self,
        change: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let guard = self.0.clone().read_owned().await;
        let task = tokio::spawn(async move {
            let done = change.await;
            drop(guard);
            done
        });
        match task.await {
            Ok(done) => done,
            Err(bug) => resume_unwind(bug.into_panic()),
        }
    }

    /// Waits until no change is under way, at most for `limit`.
    pub(super) async fn finished(&self, limit: Duration) {
        timeout(limit, self.0.write()).await.ok();
    }
}
