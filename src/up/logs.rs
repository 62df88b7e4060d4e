//! The logs of several containers in one.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::engine::Engine;

/// How many lines may wait to be shown.
const WAITING: usize = 256;

/// Follows containers; ends with its owner.
pub(super) struct Logs {
    sender: mpsc::Sender<(String, String)>,
    lines: mpsc::Receiver<(String, String)>,
    /// By service: the container that is followed, and what follows it.
    followed: HashMap<String, (String, JoinHandle<()>)>,
    /// What was printed before counts only where the container is new; in seconds of Unix time.
    since: i32,
}

impl Logs {
    pub(super) fn new(since: SystemTime) -> Self {
        let (sender, lines) = mpsc::channel(WAITING);
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let since = i32::try_from(since).unwrap_or_default();
        Self { sender, lines, followed: HashMap::new(), since }
    }

    /// Follows the container of a service, instead of an earlier one. `is_new` says whether all that it printed counts.
    pub(super) fn follow(&mut self, engine: &Engine, service: &str, container: &str, is_new: bool) {
        if self.followed.get(service).is_some_and(|(known, task)| known == container && !task.is_finished()) {
            return;
        }
        let mut lines = engine.follow(container, if is_new { 0 } else { self.since });
        let (sender, name) = (self.sender.clone(), service.to_owned());
        let task = tokio::spawn(async move {
            while let Some(line) = lines.line().await {
                if sender.send((name.clone(), line)).await.is_err() {
                    return;
                }
            }
        });
        self.followed.insert(service.to_owned(), (container.to_owned(), task));
    }

    /// The next line, and the service that printed it. Can be given up and called again.
    pub(super) async fn next(&mut self) -> (String, String) {
        match self.lines.recv().await {
            Some(line) => line,
            None => std::future::pending().await,
        }
    }

    /// A line that is here already.
    pub(super) fn ready(&mut self) -> Option<(String, String)> {
        self.lines.try_recv().ok()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        self.followed.values().for_each(|(_, task)| task.abort());
    }
}
