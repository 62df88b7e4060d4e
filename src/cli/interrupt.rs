//! The user, or the system, has enough.

use std::future::{self, Future};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use crate::error::Error;

/// Every time that the user interrupts the program, the system asks it to end, or the terminal closes, from now on. Needs
/// the runtime, and hears only while that runs.
pub(super) fn interrupts() -> UnboundedReceiver<()> {
    let (heard, receiver) = unbounded_channel();
    #[cfg(unix)]
    for kind in {
        use tokio::signal::unix::SignalKind;
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
    } {
        // From here on the signal does not end this process.
        let Ok(mut signal) = tokio::signal::unix::signal(kind) else { continue };
        let sender = heard.clone();
        tokio::spawn(async move { while signal.recv().await.is_some() && sender.send(()).is_ok() {} });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && heard.send(()).is_ok() {} });
    receiver
}

/// Ends when that happens.
pub(super) async fn interrupted() {
    if interrupts().recv().await.is_none() {
        future::pending::<()>().await;
    }
}

/// Whether the user has enough, for a command of many steps: it is heard from the first step on, also between them.
#[derive(Clone)]
pub(super) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on.
    pub(super) fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        let mut interrupts = interrupts();
        tokio::spawn(async move {
            if interrupts.recv().await.is_some() {
                sender.send(true).ok();
            }
        });
        Self(receiver)
    }

    /// Ends when the user has enough.
    pub(super) fn wait(&self) -> impl Future<Output = ()> + 'static {
        let mut receiver = self.0.clone();
        async move {
            if receiver.wait_for(|is_over| *is_over).await.is_err() {
                future::pending::<()>().await;
            }
        }
    }

    /// Works until it is done, or the user has enough.
    pub(super) async fn unless<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.wait() => Err(Error::Interrupted),
            done = work => Ok(done),
        }
    }
}
