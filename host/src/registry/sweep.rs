//! Removing what no revision needs any more.

use std::collections::HashSet;
use std::time::Duration;

use agentcli::api::time;

use super::distribution::Distribution;
use crate::store::{Broken, Digest, Tx, kept};

/// Interval of the sweeps that find pushes which were given up.
const INTERVAL: Duration = Duration::from_secs(600);

impl Distribution {
    /// Sweeps from time to time until `end`.
    pub(crate) async fn tidy(&self, end: impl Future<Output = ()>) {
        let sweeps = async {
            loop {
                // The reconciler reports a database that fails.
                self.sweep_all().await.ok();
                tokio::time::sleep(INTERVAL).await;
            }
        };
        tokio::select! {
            () = sweeps => {}
            () = end => {}
        }
    }

    async fn sweep_all(&self) -> Result<(), Broken> {
        self.uploads.remove_old();
        // Listed before the deployments: that of a new directory is known.
        let directories = self.blobs.deployments();
        let known = self.store.read(|tx| tx.deployment_ids())?;
        for deployment in directories {
            if known.contains(&deployment) {
                self.sweep(&deployment).await?;
            } else {
                self.remove(&deployment).await;
            }
        }
        Ok(())
    }

    /// Removes the manifests and blobs of a deployment that no revision needs, unless they are new: an image is pushed before
    /// its revision is created.
    pub(crate) async fn sweep(&self, deployment: &str) -> Result<(), Broken> {
        let (id, age) = (deployment.to_owned(), self.limits.registry.unused);
        let Some(used) = self.store.change(move |tx| sweep_manifests(tx, &id, age)).await? else {
            return Ok(());
        };
        let (blobs, id) = (self.blobs.clone(), deployment.to_owned());
        // The next sweep removes the rest.
        tokio::task::spawn_blocking(move || blobs.remove_unused(&id, &used, age)).await.ok();
        Ok(())
    }

    /// Removes the repository of a deployment that is gone.
    pub(crate) async fn remove(&self, deployment: &str) {
        let (blobs, id) = (self.blobs.clone(), deployment.to_owned());
        tokio::task::spawn_blocking(move || blobs.remove_all(&id)).await.ok();
    }
}

/// Removes manifests that are not needed; the blobs that the others need. A deleted deployment is removed as a whole.
fn sweep_manifests(tx: &Tx<'_>, deployment: &str, age: Duration) -> Result<Option<HashSet<Digest>>, Broken> {
    if tx.is_deleted(deployment)? {
        return Ok(None);
    }
    let before = time::now().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    let manifests = tx.manifests(deployment)?;
    let kept = kept(&manifests, before);
    let mut used = HashSet::new();
    for manifest in &manifests {
        match kept.get(manifest.digest.as_str()) {
            Some(needs) => used.extend(needs.blobs.iter().map(|(digest, _)| digest.clone())),
            None => tx.remove_manifest(deployment, &manifest.digest)?,
        }
    }
    Ok(Some(used))
}
