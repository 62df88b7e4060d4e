//! The user, or the system, has enough.

use std::future;

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
