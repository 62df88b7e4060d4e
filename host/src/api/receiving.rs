//! Archives that are being received: one for each upload URL, and no more of a tenant than fit into its quota.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::answer::Refusal;
use crate::lock::lock;
use crate::store::Store;
use crate::store::quota::{Exceeded, Quota};

/// The archives in transfer.
#[derive(Default)]
pub(crate) struct Receiving {
    /// By ID of the upload: told when another transfer to the same URL begins.
    current: Arc<Mutex<HashMap<String, watch::Sender<bool>>>>,
    /// Announced bytes by ID of the tenant.
    announced: Arc<Mutex<HashMap<String, u64>>>,
}

/// A transfer, until it is dropped.
pub(super) struct Transfer {
    current: Arc<Mutex<HashMap<String, watch::Sender<bool>>>>,
    id: String,
    newer: watch::Receiver<bool>,
}

/// Announced bytes, until it is dropped.
pub(super) struct Room {
    announced: Arc<Mutex<HashMap<String, u64>>>,
    tenant: String,
    bytes: u64,
}

impl Receiving {
    /// Keeps room for an archive of `bytes` in the quota of the tenant of an upload.
    pub(super) fn reserve(&self, store: &Store, id: &str, bytes: u64) -> Result<Room, Refusal> {
        let (tenant, used, replaced, most) = store.read(|tx| {
            let (tenant, replaced) = tx.upload_owner(id)?;
            let used = tx.used(&tenant, Quota::UploadBytes)?;
            let most = tx.quota(&tenant, Quota::UploadBytes)?;
            Ok::<_, Refusal>((tenant, used, replaced, most))
        })?;
        let mut announced = lock(&self.announced);
        let own = announced.entry(tenant.clone()).or_default();
        let needed = used.saturating_sub(replaced).saturating_add(*own).saturating_add(bytes);
        if needed > most {
            return Err(Exceeded { quota: Quota::UploadBytes, most, needed }.into());
        }
        *own += bytes;
        Ok(Room { announced: self.announced.clone(), tenant, bytes })
    }

    /// Begins a transfer to an upload URL, which ends the one that is in progress there: its client has given it up, or its
    /// archive would be replaced.
    pub(super) fn begin(&self, id: &str) -> (watch::Receiver<bool>, Transfer) {
        let (sender, newer) = watch::channel(false);
        if let Some(older) = lock(&self.current).insert(id.to_owned(), sender) {
            older.send_replace(true);
        }
        let transfer = Transfer { current: self.current.clone(), id: id.to_owned(), newer: newer.clone() };
        (newer, transfer)
    }
}

/// Waits until another transfer to the same URL begins.
pub(super) async fn replaced(newer: &mut watch::Receiver<bool>) {
    newer.wait_for(|is_replaced| *is_replaced).await.ok();
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let mut current = lock(&self.current);
        if current.get(&self.id).is_some_and(|sender| sender.subscribe().same_channel(&self.newer)) {
            current.remove(&self.id);
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut announced = lock(&self.announced);
        if let Some(own) = announced.get_mut(&self.tenant) {
            *own -= self.bytes;
            if *own == 0 {
                announced.remove(&self.tenant);
            }
        }
    }
}
