//! Where the asynchronous work of a command runs.

use std::pin::Pin;

/// The runtime of a command.
#[derive(Debug)]
pub struct Runtime(tokio::runtime::Runtime);

impl Runtime {
    pub(super) fn new(runtime: tokio::runtime::Runtime) -> Self {
        Self(runtime)
    }

    /// Does `work` on this thread, and returns its result.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let mut done = None;
        // Tokio's part is compiled for each type of work that it is given: here, once.
        let work: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(async { done = Some(work.await) });
        self.0.block_on(work);
        done.expect("the work was awaited")
    }

    /// Ends it without waiting for threads that are looking up addresses.
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}
