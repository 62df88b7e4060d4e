//! Changes of what the engine has. Each is done whole, even if whoever asked for it does not wait for it: so it is known
//! what is there when everything is stopped.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use tokio::time::timeout;

/// Changes that are under way.
#[derive(Clone, Default)]
pub(super) struct Changes(Arc<RwLock<()>>);

impl Changes {
    /// Does `change` to its end.
    pub(super) async fn whole<T: Send + 'static>(
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

    /// Waits until none is under way, but no longer than `patience`.
    pub(super) async fn settled(&self, patience: Duration) {
        timeout(patience, self.0.write()).await.ok();
    }
}
