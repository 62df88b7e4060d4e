//! Connections: limits and timeouts.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Limits;

/// Timeout for pending responses when the service stops.
const GRACE: Duration = Duration::from_secs(3);

/// Pause after a connection could not be accepted, usually for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until `end`, and completes pending responses.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    end: impl Future<Output = ()>,
) {
    let permits = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut tasks = JoinSet::new();
    tokio::pin!(end);
    loop {
        let next = async {
            let permit = permits.clone().acquire_owned().await;
            (listener.accept().await, permit)
        };
        tokio::select! {
            (accepted, permit) = next => match accepted {
                Ok((stream, _)) => {
                    let connection = graceful.watch(connection(stream, &router, limits.header));
                    tasks.spawn(async move {
                        // The client may close the connection at any time.
                        connection.await.ok();
                        drop(permit);
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = tasks.join_next() => {}
            () = &mut end => break,
        }
    }
    drop(listener);
    // The remaining connections are closed with their tasks.
    tokio::time::timeout(GRACE, graceful.shutdown()).await.ok();
}

fn connection(
    stream: TcpStream,
    router: &Router,
    timeout: Duration,
) -> impl GracefulConnection<Error = hyper::Error> + use<> {
    stream.set_nodelay(true).ok();
    let service = TowerToHyperService::new(router.clone());
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(timeout);
    builder.serve_connection(TokioIo::new(stream), service)
}
