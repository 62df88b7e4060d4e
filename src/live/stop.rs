//! Stopping the program, for every command alike.

use std::fmt::Display;
use std::future::{self, Future};
use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use super::event::Reporter;
use super::signals;

/// How urgently the program should stop. The third signal has no level: it ends the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No signal has arrived.
    #[default]
    Running,
    /// The first signal: finish in order.
    Asked,
    /// The second signal: kill whatever still runs.
    Forced,
}

/// The work was interrupted before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Interrupted {
    /// The result of an interrupted run: no error if the server was ready and is stopped. A warning says why it is not.
    pub fn unless_stopped<E: Display>(
        self,
        was_ready: bool,
        stopped: Result<(), E>,
        reporter: &mut dyn Reporter,
    ) -> Result<(), Self> {
        if let Err(error) = &stopped {
            reporter.warn(error.to_string());
        }
        if was_ready && stopped.is_ok() { Ok(()) } else { Err(self) }
    }
}

/// A handle on the level. All clones share one level, which never falls.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    level: Arc<watch::Sender<Level>>,
    listens: bool,
}

impl Stop {
    /// A handle that signals to this process raise, once [`Stop::listen`] is called.
    pub fn on_signals() -> Self {
        Self { listens: true, ..Self::default() }
    }

    /// Takes over the signals, on a thread that no work of the program can block.
    ///
    /// # Errors
    ///
    /// The system does not allow the signal handlers.
    pub fn listen(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.listens) {
            return Ok(());
        }
        let stop = self.clone();
        signals::listen(move || {
            let goes_on = stop.level() != Level::Forced;
            stop.raise();
            goes_on
        })
    }

    /// Raises the level by one, as a signal does.
    pub fn raise(&self) {
        self.level.send_modify(|level| {
            *level = if *level == Level::Running { Level::Asked } else { Level::Forced };
        });
    }

    /// The current level.
    pub fn level(&self) -> Level {
        *self.level.borrow()
    }

    /// Completes as soon as the program is asked to stop.
    pub fn asked(&self) -> impl Future<Output = ()> + Send + 'static {
        self.above(Level::Running)
    }

    /// Completes as soon as the program is forced to stop.
    pub fn forced(&self) -> impl Future<Output = ()> + Send + 'static {
        self.above(Level::Asked)
    }

    /// Completes as soon as the level is above `level`.
    pub fn above(&self, level: Level) -> impl Future<Output = ()> + Send + 'static {
        let mut receiver = self.level.subscribe();
        async move {
            if receiver.wait_for(|now| *now > level).await.is_err() {
                future::pending().await
            }
        }
    }

    /// Runs `work` until it is done or the program is asked to stop.
    ///
    /// # Errors
    ///
    /// [`Interrupted`]; `work` is dropped.
    pub async fn unless_asked<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        unless(self.asked(), work).await
    }

    /// Runs `work` until it is done or the program is forced to stop.
    ///
    /// # Errors
    ///
    /// [`Interrupted`]; `work` is dropped.
    pub async fn unless_forced<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        unless(self.forced(), work).await
    }
}

async fn unless<T>(
    stopped: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Result<T, Interrupted> {
    tokio::select! {
        biased;
        () = stopped => Err(Interrupted),
        done = work => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_signal_raises_the_level_and_a_stopped_handle_stays_stopped() {
        let stop = Stop::default();
        assert_eq!(stop.unless_asked(async { 1 }).await, Ok(1));
        let clone = stop.clone();
        clone.raise();
        assert_eq!(stop.level(), Level::Asked);
        assert_eq!(stop.unless_asked(async { 1 }).await, Err(Interrupted));
        assert_eq!(stop.unless_asked(async { 1 }).await, Err(Interrupted));
        assert_eq!(stop.unless_forced(async { 1 }).await, Ok(1));
        clone.raise();
        clone.raise();
        assert_eq!(stop.level(), Level::Forced);
        stop.forced().await;
    }
}
