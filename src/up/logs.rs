//! The logs of several containers.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::live::{self, LineSender, Lines};

/// Follows containers until it is dropped.
pub(super) struct Logs {
    sender: LineSender<String>,
    /// The lines, each with its service.
    pub(super) lines: Lines<String>,
    /// The followed container of each service, and the task that follows it.
    followed: HashMap<String, (String, JoinHandle<()>)>,
    /// Older output is shown only of new containers; in seconds of Unix time.
    since: i32,
}

impl Logs {
    pub(super) fn new(since: SystemTime) -> Self {
        let (sender, lines) = live::lines();
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let since = i32::try_from(since).unwrap_or_default();
        Self { sender, lines, followed: HashMap::new(), since }
    }

    /// Follows the container of a service instead of an earlier one; a new container from its first line.
    pub(super) fn follow(&mut self, engine: &Engine, service: &str, container: &str, is_new: bool) {
        if self.followed.get(service).is_some_and(|(known, task)| known == container && !task.is_finished()) {
            return;
        }
        let since = if is_new { 0 } else { self.since };
        let follow = engine.follow(container, since, service.to_owned(), self.sender.clone());
        self.followed.insert(service.to_owned(), (container.to_owned(), tokio::spawn(follow)));
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        self.followed.values().for_each(|(_, task)| task.abort());
    }
}
