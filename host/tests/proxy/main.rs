//! The proxy between real clients and real backends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod backend;
mod client;
mod failures;
mod holding;
mod routing;
mod streams;
mod switching;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agentcli_host::proxy::{HostName, Options, Proxy, Route, Routes};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Generous limit for everything that should happen soon.
const SOON: Duration = Duration::from_secs(20);

/// A proxy that serves until it is dropped.
struct Running {
    address: SocketAddr,
    routes: Arc<Routes>,
    end: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Running {
    async fn start(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::default();
        change(&mut options);
        let routes = Arc::new(Routes::default());
        let proxy = Proxy::bind("127.0.0.1:0".parse().unwrap(), routes.clone(), options).await.unwrap();
        let address = proxy.address().unwrap();
        let (end, ended) = oneshot::channel();
        let serving = tokio::spawn(proxy.serve(async { drop(ended.await) }));
        Self { address, routes, end, serving }
    }

    /// Sets the route of `id`, which is served at `id.localhost`.
    fn set(&self, id: &str, route: Route) {
        self.routes.set(id, &[HostName::local(id).unwrap()], route).unwrap();
    }

    fn ready(&self, id: &str, backends: &[&backend::Backend]) {
        self.set(id, Route::Ready(backends.iter().map(|backend| backend.address).collect()));
    }

    async fn stop(self) {
        self.end.send(()).unwrap();
        soon(self.serving).await.unwrap();
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.unwrap()
}

/// Waits until `condition` is true.
async fn until(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
