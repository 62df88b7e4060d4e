//! The user, or the system, has enough.

use std::future::{self, Future};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use crate::error::Error;

/// Ends when the user interrupts the program, the system asks it to end, or the terminal closes.
pub(super) async fn interrupted() {
    #[cfg(unix)]
    let asked = async {
        use tokio::signal::unix::{SignalKind, signal};
        match (signal(SignalKind::terminate()), signal(SignalKind::hangup())) {
            (Ok(mut terminate), Ok(mut hangup)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            }
            _ => future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let asked = future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = asked => {}
    }
}

/// Whether the user has enough, for a command of many steps: it is heard from the first step on, also between them.
#[derive(Clone)]
pub(super) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Begins to listen.
    pub(super) async fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            interrupted().await;
            sender.send(true).ok();
        });
        // Once it was polled, it listens.
        tokio::task::yield_now().await;
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

/// Every time that happens, from now on. Needs the runtime, and hears only while that runs.
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
