//! A deployment service of our own, to try and test `deploy` without an account.
//!
//! It implements the specification, and where that is silent, it behaves like the public service;
//! docs/deployment-service.md lists both. Its state is in memory, and it runs nothing: it looks up images in their
//! registry and checks archives, and then counts the revision as deployed.

mod answer;
mod archive;
mod body;
mod command;
mod connection;
mod deployments;
mod error;
mod faults;
mod keys;
mod listener;
mod logs;
mod merge;
mod name;
pub mod proxy;
mod query;
pub mod reconcile;
mod registry;
mod repositories;
mod revisions;
mod routes;
mod rules;
pub mod runner;
mod store;
mod transfer;
mod uploads;
mod worker;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;

use agentcli::api::Vocabulary;
use agentcli::api::wire::{Listener, Repository, Source};

pub use command::run;
pub use error::Error;
pub use faults::Faults;
pub use keys::token;
pub use registry::{Login, Registry};
pub use routes::{Basis, ROUTES, Route};
pub use store::{Access, Broken, DEFAULT_TENANT, Error as StoreError, Store};
pub use uploads::LARGEST_UPLOAD;

/// Options of the service.
pub struct Options {
    /// Address to listen on.
    pub host: String,
    /// Port to listen on; 0 for any.
    pub port: u16,
    /// The data directory.
    pub data: PathBuf,
    /// API dialect.
    pub vocabulary: Vocabulary,
    /// Whether it deploys images of external registries only (self-hosted), or all other sources.
    pub is_self_hosted: bool,
    /// Duration of each status of a revision.
    pub pace: Duration,
    /// Interval at which running deployments write to their logs, if they do.
    pub heartbeat: Option<Duration>,
    /// The registry for images; without one, there are no push tokens, and images are not looked up.
    pub registry: Option<Registry>,
    /// The repositories of all integrations.
    pub repositories: Vec<Repository>,
    /// The listeners; without any, those of new deployments are not checked.
    pub listeners: Vec<Listener>,
    /// Injected faults.
    pub faults: Faults,
    /// Limits for clients.
    pub limits: Limits,
}

/// Limits for clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections; more wait to be accepted.
    pub connections: usize,
    /// Timeout for the header of a request, including idle time before it.
    pub header: Duration,
    /// Timeout for the body of a request, except uploads.
    pub body: Duration,
    /// Timeout for the next chunk of an upload.
    pub piece: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let timeout = Duration::from_secs(30);
        Self { connections: 256, header: timeout, body: timeout, piece: timeout }
    }
}

/// A listening service.
pub struct Service {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// State shared by all requests.
struct Shared {
    store: Store,
    options: Options,
    address: SocketAddr,
    /// By deployment: the lock of the revision that is being processed.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Shared {
    /// A source in the dialect of the service.
    fn word(&self, source: &Source) -> String {
        let mut record = serde_json::json!({ "source": source });
        self.options.vocabulary.exchange(&mut record);
        record["source"].as_str().unwrap_or_default().to_owned()
    }
}

impl Service {
    /// Binds the address; requests are answered by [`Service::serve`].
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let refused = |source| Error::Bind { host: options.host.clone(), port: options.port, source };
        let listener = TcpListener::bind((&*options.host, options.port)).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let store = Store::open(&options.data)?;
        uploads::tidy(&store)?;
        let shared = Arc::new(Shared { store, options, address, turns: Mutex::default() });
        worker::resume(&shared)?;
        Ok(Self { listener, address, shared })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `end`.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let router = routes::router(self.shared.clone());
        connection::serve(self.listener, router, self.shared.options.limits, end).await;
    }
}

/// Locks `mutex`, even if it is poisoned: locked data is changed in one step, so a panic leaves it consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
