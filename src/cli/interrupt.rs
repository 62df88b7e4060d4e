//! The user, or the system, has enough.

use std::future;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

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
