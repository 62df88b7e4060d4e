//! How much a route is used: what scaling to zero needs to know.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::lock::lock;

/// The requests of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Number of open requests, streams, upgraded connections and held requests.
    pub open: usize,
    /// Time since the last request ended, zero while one is open; `None` before the first one.
    pub idle: Option<Duration>,
    /// Whether a request came while the route was asleep. True until the route is set to something else.
    pub is_wanted: bool,
}

/// Counts the requests of a route.
#[derive(Default)]
pub(super) struct Usage(Mutex<State>);

#[derive(Default)]
struct State {
    open: usize,
    held: usize,
    /// The end of the last request.
    last: Option<Instant>,
    is_wanted: bool,
}

impl Usage {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    pub(super) fn activity(&self) -> Activity {
        let state = self.state();
        let idle = if state.open == 0 { state.last.map(|last| last.elapsed()) } else { Some(Duration::ZERO) };
        Activity { open: state.open, idle, is_wanted: state.is_wanted }
    }

    /// Notes that the route is wanted; false if it is noted already.
    pub(super) fn want(&self) -> bool {
        !std::mem::replace(&mut self.state().is_wanted, true)
    }

    pub(super) fn satisfy(&self) {
        self.state().is_wanted = false;
    }

    /// Counts a request until the guard is dropped; `None` if `max` are open already.
    pub(super) fn visit(usage: &Arc<Self>, max: usize) -> Option<Visit> {
        let mut state = usage.state();
        (state.open < max).then(|| {
            state.open += 1;
            Visit(usage.clone())
        })
    }
}

/// A request of a route.
pub(super) struct Visit(Arc<Usage>);

impl Visit {
    /// Counts the request as held until the guard is dropped; `None` if `max` are held already.
    pub(super) fn hold(&self, max: usize) -> Option<Held> {
        let mut state = self.0.state();
        (state.held < max).then(|| {
            state.held += 1;
            Held(self.0.clone())
        })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        state.last = Some(Instant::now());
    }
}

/// A held request of a route.
pub(super) struct Held(Arc<Usage>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.state().held -= 1;
    }
}
