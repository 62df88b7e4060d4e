//! Lines of logs that wait to be written. They are written together, since a build has many; those that cannot be written,
//! because the disk is full for example, are kept and written later.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentcli::api::wire::LogLevel;

use crate::lock::lock;
use crate::store::{Broken, LineOrigin, LogKind, Store, Tx};

/// Maximum size of the lines that wait, and of those of one revision, in bytes. Further ones are dropped.
const MOST: usize = 32 << 20;
const SHARE: usize = 4 << 20;

/// Size of a line besides its text, in bytes, roughly.
const LINE: usize = 256;

/// Pause after lines could not be written.
const RETRY: Duration = Duration::from_secs(1);

/// Number of bytes after which the quotas of tenants are checked.
const CHECKED: usize = 4 << 20;

/// A line of a log.
pub(super) struct LogLine {
    pub(super) revision: String,
    pub(super) kind: LogKind,
    pub(super) level: LogLevel,
    pub(super) text: String,
    /// In milliseconds since 1970.
    pub(super) time: i64,
    pub(super) origin: Option<LineOrigin>,
}

impl LogLine {
    fn size(&self) -> usize {
        LINE + self.text.len()
    }

    fn write(&self, tx: &Tx<'_>) -> Result<(), Broken> {
        let is_new = match &self.origin {
            Some(origin) => tx.read_until(&self.revision, origin)?,
            None => true,
        };
        if !is_new {
            return Ok(());
        }
        tx.log_at(&self.revision, self.kind, &self.level, &self.text, self.time)
    }
}

/// The lines, and the database that they are written to.
pub(super) struct LogBuffer {
    store: Arc<Store>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    waiting: Vec<LogLine>,
    /// Those of the change of the database in progress.
    writing: Arc<Vec<LogLine>>,
    /// Bytes of all these lines, and by revision.
    bytes: usize,
    by_revision: HashMap<String, usize>,
    /// Whether a change of the database is to take the lines that wait.
    is_queued: bool,
    failed: Option<Instant>,
    unchecked: usize,
}

impl LogBuffer {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store, state: Arc::default() }
    }

    /// Adds a line, unless too many wait.
    pub(super) fn push(&self, line: LogLine) {
        let mut state = lock(&self.state);
        let size = line.size();
        let own = state.by_revision.get(&line.revision).copied().unwrap_or_default();
        if state.bytes + size > MOST || own + size > SHARE {
            return;
        }
        state.bytes += size;
        state.by_revision.insert(line.revision.clone(), own + size);
        state.waiting.push(line);
        drop(state);
        self.flush();
    }

    /// Writes the lines later, unless that is about to be done or has just failed.
    pub(super) fn flush(&self) {
        let mut state = lock(&self.state);
        let has_failed = state.failed.is_some_and(|failed| failed.elapsed() < RETRY);
        if state.is_queued || has_failed || state.waiting.is_empty() {
            return;
        }
        state.is_queued = true;
        let taken = self.state.clone();
        let ended = self.state.clone();
        let write = move |tx: &Tx<'_>| {
            let (lines, is_check_due) = lock(&taken).begin();
            lines.iter().try_for_each(|line| line.write(tx))?;
            if is_check_due { tx.keep_log_quotas() } else { Ok(()) }
        };
        self.store.change_later(write, move |is_written| lock(&ended).end(is_written));
    }
}

impl State {
    /// Takes the lines that wait; returns them, and whether the quotas are to be checked.
    fn begin(&mut self) -> (Arc<Vec<LogLine>>, bool) {
        self.is_queued = false;
        self.writing = Arc::new(mem::take(&mut self.waiting));
        self.unchecked += self.writing.iter().map(LogLine::size).sum::<usize>();
        (self.writing.clone(), self.unchecked >= CHECKED)
    }

    fn end(&mut self, is_written: bool) {
        let lines = Arc::into_inner(mem::take(&mut self.writing)).unwrap_or_default();
        if !is_written {
            self.failed = Some(Instant::now());
            self.is_queued = false;
            let newer = mem::replace(&mut self.waiting, lines);
            self.waiting.extend(newer);
            return;
        }
        self.failed = None;
        self.unchecked %= CHECKED;
        for line in lines {
            self.bytes -= line.size();
            if let Some(own) = self.by_revision.get_mut(&line.revision) {
                *own -= line.size();
            }
        }
        self.by_revision.retain(|_, own| *own > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(revision: &str, text: String) -> LogLine {
        let (kind, level) = (LogKind::Build, LogLevel::Info);
        LogLine { revision: revision.to_owned(), kind, level, text, time: 0, origin: None }
    }

    #[tokio::test]
    async fn lines_wait_for_a_disk_that_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(directory.path()).unwrap());
        let limit = |pages: u64| {
            let store = store.clone();
            async move {
                store
                    .change(move |tx| tx.execute(&format!("PRAGMA max_page_count = {pages}")))
                    .await
                    .unwrap();
            }
        };
        store.change(|tx| tx.add_example("a", 1)).await.unwrap();
        let buffer = LogBuffer::new(store.clone());
        limit(1).await;
        (0..100).for_each(|number| buffer.push(line("a-1", format!("{number} {}", "x".repeat(1000)))));
        let ended = store.change(|tx| tx.log_size("a-1")).await.unwrap();
        assert!(ended.0 < 100, "the disk is not full");
        limit(1 << 30).await;
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            buffer.flush();
            let written = store.change(|tx| tx.log_size("a-1")).await.unwrap();
            if written.0 == 100 {
                break;
            }
            assert!(Instant::now() < deadline, "{written:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let lines = store.read(|tx| {
            let order = crate::store::Order::OldestAfter(0);
            tx.read_log("a", None, LogKind::Build, order, 1000, |_| true)
        });
        let numbers =
            lines.unwrap().into_iter().map(|line| line.message.split(' ').next().unwrap().to_owned());
        assert!(numbers.eq((0..100).map(|number| number.to_string())));
        let state = lock(&buffer.state);
        assert!(state.bytes == 0 && state.by_revision.is_empty());
    }

    #[tokio::test]
    async fn lines_that_wait_have_a_maximum_for_each_revision() {
        let directory = tempfile::tempdir().unwrap();
        let buffer = LogBuffer::new(Arc::new(Store::open(directory.path()).unwrap()));
        // Nothing is written.
        lock(&buffer.state).is_queued = true;
        (0..10_000).for_each(|_| buffer.push(line("a-1", "x".repeat(1000))));
        buffer.push(line("b-1", "x".to_owned()));
        let state = lock(&buffer.state);
        let own = |revision: &str| state.by_revision[revision];
        assert!(own("a-1") <= SHARE && own("a-1") > SHARE - 2000 && own("b-1") == LINE + 1);
    }
}
