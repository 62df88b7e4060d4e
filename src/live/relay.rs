//! Events of work that cannot borrow the reporter.

use std::pin::pin;

use tokio::sync::mpsc::UnboundedReceiver;

use super::event::{Event, Reporter};

/// The result of `run`, whose `events` are reported until then.
pub async fn relay<T>(
    reporter: &mut (impl Reporter + ?Sized),
    mut events: UnboundedReceiver<Event>,
    run: impl Future<Output = T>,
) -> T {
    let mut run = pin!(run);
    let done = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => reporter.event(&event),
            done = &mut run => break done,
        }
    };
    while let Ok(event) = events.try_recv() {
        reporter.event(&event);
    }
    done
}
