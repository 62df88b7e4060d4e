//! Counts of what each client or tenant has at a time, with a maximum.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// Counts by key.
pub(crate) struct Counts<K: Eq + Hash>(Arc<Mutex<HashMap<K, usize>>>);

/// One of the things that are counted, until it is dropped.
pub(crate) struct Counted<K: Eq + Hash> {
    counts: Arc<Mutex<HashMap<K, usize>>>,
    key: K,
}

impl<K: Eq + Hash> Default for Counts<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Clone> Counts<K> {
    /// Counts one more, unless there are `most` already.
    pub(crate) fn enter(&self, key: K, most: usize) -> Option<Counted<K>> {
        let mut counts = lock(&self.0);
        let count = counts.get(&key).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        counts.insert(key.clone(), count + 1);
        drop(counts);
        Some(Counted { counts: self.0.clone(), key })
    }
}

impl<K: Eq + Hash> Counted<K> {
    /// The key that it counts for.
    pub(crate) fn key(&self) -> &K {
        &self.key
    }
}

impl<K: Eq + Hash> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

/// The address that connections are counted by: one client has a whole /64 of IPv6.
pub(crate) fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_maximum_and_gets_back_what_it_leaves() {
        let counts = Counts::default();
        let (first, second) = (counts.enter("a", 2), counts.enter("a", 2));
        assert!(first.is_some() && second.is_some() && counts.enter("a", 2).is_none());
        assert!(counts.enter("b", 2).is_some());
        drop(first);
        assert_eq!(counts.enter("a", 2).map(|counted| *counted.key()), Some("a"));
        drop(second);
        assert!(lock(&counts.0).is_empty());
    }

    #[test]
    fn clients_are_addresses_and_networks_of_64_bits() {
        for (address, expected) in [
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::1", "::1"),
        ] {
            assert_eq!(client(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        }
    }
}
