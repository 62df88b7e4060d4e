//! How many acts are done at a time. Each tenant has a share of its own: acts that take long, such as probes of servers that
//! hang, hold up the acts of the same tenant only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::lock;

/// Number of tenants whose shares can be used up at a time before others wait.
const TENANTS: usize = 4;

/// The shares of all tenants in acts of one kind.
pub(super) struct Shares {
    all: Arc<Semaphore>,
    each: usize,
    /// The shares of the tenants that have acts, by ID.
    tenants: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// An act in progress, until it is dropped.
pub(super) struct Share {
    _tenant: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

impl Shares {
    /// Shares of `each` acts at a time.
    pub(super) fn new(each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(each * TENANTS)), each, tenants: Mutex::default() }
    }

    /// Waits until a tenant may do another act. Of one tenant, no more acts than its share wait for those of others, so that
    /// many acts do not come before few.
    pub(super) async fn enter(&self, tenant: &str) -> Share {
        let own = self.own(tenant).acquire_owned().await.ok();
        let all = self.all.clone().acquire_owned().await.ok();
        Share { _tenant: own, _all: all }
    }

    fn own(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = lock(&self.tenants);
        // Those who wait and those who act have their own references.
        tenants.retain(|_, own| Arc::strong_count(own) > 1);
        let own = tenants.entry(tenant.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        own.clone()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn tenants_have_shares_of_their_own_and_the_host_a_maximum() {
        let shares = Shares::new(2);
        let enter = |tenant: &str| shares.enter(tenant).now_or_never();
        let mut taken: Vec<Share> = ["a", "a", "b"].iter().filter_map(|tenant| enter(tenant)).collect();
        assert!(taken.len() == 3 && enter("a").is_none());
        taken.extend(["b", "c", "c", "d", "d"].iter().filter_map(|tenant| enter(tenant)));
        assert!(taken.len() == 8 && enter("e").is_none());
        taken.truncate(6);
        assert!(enter("a").is_none() && enter("e").is_some());
        assert!(lock(&shares.tenants).len() <= 5);
    }

    #[tokio::test]
    async fn tenant_with_few_acts_does_not_wait_for_all_of_another_one() {
        let shares = Shares::new(1);
        let mut taken = Vec::new();
        for tenant in ["a", "b", "c", "d"] {
            taken.push(shares.enter(tenant).await);
        }
        let mut waiting: Vec<_> = (0..5).map(|_| shares.enter("a").boxed_local()).collect();
        waiting.iter_mut().for_each(|wait| assert!(wait.now_or_never().is_none()));
        let mut other = shares.enter("e").boxed_local();
        assert!((&mut other).now_or_never().is_none());
        taken.clear();
        assert!(other.now_or_never().is_some());
    }
}
