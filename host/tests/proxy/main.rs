//! The proxy between real clients and real backends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod backend;
mod client;
mod failures;
mod holding;
mod routing;
mod streams;
mod switching;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agentcli_host::proxy::{HostName, Options, Proxy, Route, Routes};
use tokio::sync::oneshot;

/// Generous limit for everything that should happen soon.
const SOON: Duration = Duration::from_secs(20);

/// A proxy that serves, on a thread of its own, until it is dropped.
struct Running {
    address: SocketAddr,
    routes: Arc<Routes>,
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Running {
    async fn start(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::default();
        change(&mut options);
        let routes = Arc::new(Routes::default());
        let (end, stop) = oneshot::channel();
        let (started, address) = oneshot::channel();
        let (done, ended) = oneshot::channel();
        let shared = routes.clone();
        let serve = async move {
            let proxy = Proxy::bind("127.0.0.1:0".parse().unwrap(), shared, options).await.unwrap();
            started.send(proxy.address().unwrap()).unwrap();
            proxy.serve(async { drop(stop.await) }).await;
            done.send(()).ok();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::thread::spawn(move || runtime.block_on(serve));
        Self { address: soon(address).await.unwrap(), routes, end, ended }
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
        soon(self.ended).await.unwrap();
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
