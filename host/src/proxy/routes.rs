//! Routes: which backends serve a host.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::backend::{Backend, Open};
use super::refusal::Refusal;
use super::usage::{Activity, Usage, Visit};
use crate::net::host_name::HostName;

/// Where the requests of a deployment or of a revision go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the healthy replicas. Without any, requests are held.
    Ready(Vec<SocketAddr>),
    /// Nowhere yet, for this reason: requests are held.
    Waiting(String),
    /// Nowhere until it is started again: requests are held, and it is wanted.
    Asleep,
}

/// A host belongs to another route already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host `{0}` is in use by another deployment")]
pub struct HostTaken(pub HostName);

/// The table of routes, written by the reconciler and read by each request.
#[derive(Default)]
pub struct Routes {
    table: watch::Sender<Table>,
    wanted: Notify,
}

#[derive(Default)]
pub(super) struct Table {
    /// By the id of the deployment or revision.
    routes: HashMap<String, Entry>,
    hosts: HashMap<HostName, String>,
    /// Backends that have a route or an open request.
    backends: HashMap<SocketAddr, Weak<Backend>>,
}

struct Entry {
    hosts: Vec<HostName>,
    target: Target,
    usage: Arc<Usage>,
}

enum Target {
    Ready { backends: Vec<Arc<Backend>>, turn: AtomicUsize },
    Waiting(String),
    Asleep,
}

/// The choice for a request.
pub(super) enum Choice {
    /// The request is counted as open.
    Backend(Open),
    /// Hold the request, for this reason.
    Hold(String),
    UnknownHost,
}

impl Routes {
    /// Sets the route of the deployment or revision `id`, and all hosts that it has. Open requests are not affected;
    /// every later one follows the new route.
    ///
    /// # Errors
    ///
    /// A host belongs to another route, which keeps it; all others are set.
    pub fn set(&self, id: &str, hosts: &[HostName], route: Route) -> Result<(), HostTaken> {
        let mut result = Ok(());
        self.table.send_modify(|table| result = table.set(id, hosts, route));
        result
    }

    /// Removes the route of `id` and its hosts. Held requests are answered; open ones are not affected.
    pub fn remove(&self, id: &str) {
        self.table.send_if_modified(|table| table.remove(id));
    }

    /// Waits until `backend` has no open request, stream or upgraded connection. Those that are open after `timeout` are
    /// cut off; returns their number. The backend must not have a route anymore, or new requests keep coming.
    pub async fn drain(&self, backend: SocketAddr, timeout: Duration) -> usize {
        match self.backend(backend) {
            Some(backend) => backend.drain(Instant::now() + timeout).await,
            None => 0,
        }
    }

    /// Number of open requests, streams and upgraded connections of `backend`.
    pub fn open(&self, backend: SocketAddr) -> usize {
        self.backend(backend).map_or(0, |backend| backend.count())
    }

    fn backend(&self, address: SocketAddr) -> Option<Arc<Backend>> {
        self.table.borrow().backends.get(&address).and_then(Weak::upgrade)
    }

    /// Cuts off all requests that are open at the deadline.
    pub(super) async fn drain_all(&self, deadline: Instant) {
        let backends: Vec<_> = self.table.borrow().backends.values().filter_map(Weak::upgrade).collect();
        for backend in backends {
            backend.drain(deadline).await;
        }
    }

    /// Requests of the deployment or revision `id`; `None` if it has no route.
    pub fn activity(&self, id: &str) -> Option<Activity> {
        self.table.borrow().routes.get(id).map(|entry| entry.usage.activity())
    }

    /// Resolves when a request came for a route that is asleep; [`Activity::is_wanted`] tells for which one. It is for one
    /// caller, and a request that came before the call counts.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Notices changes of the table.
    pub(super) fn changes(&self) -> watch::Receiver<Table> {
        self.table.subscribe()
    }

    /// Counts a request for `host` until the guard is dropped, unless `max` are open.
    pub(super) fn visit(&self, host: &HostName, max: usize) -> Result<Visit, Refusal> {
        let table = self.table.borrow();
        let entry = table.entry(host).ok_or_else(|| Refusal::UnknownHost(host.clone()))?;
        Usage::visit(&entry.usage, max).ok_or(Refusal::TooManyRequests { max })
    }

    /// Chooses the least loaded backend of `host` that is not among `failed`.
    ///
    /// The request is counted before the table can change: a backend without a route gets no requests that
    /// [`Routes::drain`] does not see.
    pub(super) fn choose(&self, host: &HostName, failed: &[SocketAddr]) -> Choice {
        let table = self.table.borrow();
        let Some(entry) = table.entry(host) else { return Choice::UnknownHost };
        match &entry.target {
            Target::Ready { backends, turn } => {
                let turn = turn.fetch_add(1, Ordering::Relaxed) % backends.len().max(1);
                let (before, after) = backends.split_at(turn);
                let candidates = after.iter().chain(before).filter(|it| !failed.contains(&it.address()));
                match candidates.min_by_key(|backend| backend.load()) {
                    Some(backend) => Choice::Backend(backend.open()),
                    None if failed.is_empty() => Choice::Hold("no replica is healthy".to_owned()),
                    None => Choice::Hold("no replica accepts connections".to_owned()),
                }
            }
            Target::Waiting(reason) => Choice::Hold(reason.clone()),
            Target::Asleep => {
                if entry.usage.want() {
                    self.wanted.notify_one();
                }
                Choice::Hold("the deployment is starting after an idle time".to_owned())
            }
        }
    }
}

impl Table {
    fn entry(&self, host: &HostName) -> Option<&Entry> {
        self.routes.get(self.hosts.get(host)?)
    }

    fn set(&mut self, id: &str, hosts: &[HostName], route: Route) -> Result<(), HostTaken> {
        let is_taken = |host: &&HostName| self.hosts.get(*host).is_some_and(|owner| owner != id);
        let (taken, free): (Vec<_>, Vec<_>) = hosts.iter().partition(is_taken);
        let taken = taken.first().map(|host| HostTaken((*host).clone()));
        let hosts: Vec<HostName> = free.into_iter().cloned().collect();
        let target = self.target(route);
        let old = self.routes.remove(id);
        for host in old.iter().flat_map(|entry| &entry.hosts) {
            self.hosts.remove(host);
        }
        let usage = old.map(|entry| entry.usage).unwrap_or_default();
        if !matches!(target, Target::Asleep) {
            usage.satisfy();
        }
        self.hosts.extend(hosts.iter().map(|host| (host.clone(), id.to_owned())));
        self.routes.insert(id.to_owned(), Entry { hosts, target, usage });
        self.backends.retain(|_, backend| backend.strong_count() > 0);
        taken.map_or(Ok(()), Err)
    }

    fn target(&mut self, route: Route) -> Target {
        match route {
            Route::Ready(addresses) => {
                let backends = addresses.into_iter().map(|address| self.backend(address)).collect();
                Target::Ready { backends, turn: AtomicUsize::new(0) }
            }
            Route::Waiting(reason) => Target::Waiting(reason),
            Route::Asleep => Target::Asleep,
        }
    }

    /// The backend at `address`, with the requests that it has open from an earlier route.
    fn backend(&mut self, address: SocketAddr) -> Arc<Backend> {
        let known = self.backends.get(&address).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let backend = Arc::new(Backend::new(address));
            self.backends.insert(address, Arc::downgrade(&backend));
            backend
        })
    }

    fn remove(&mut self, id: &str) -> bool {
        let Some(entry) = self.routes.remove(id) else { return false };
        for host in &entry.hosts {
            self.hosts.remove(host);
        }
        true
    }
}
