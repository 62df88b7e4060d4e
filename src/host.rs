//! The other end: a deployment service of our own, so that `deploy` can be tried and tested without an account.
//!
//! It answers what the specification describes as it describes it, and what it leaves out as the public service does;
//! docs/deployment-service.md says for each answer which of the two it is. What it knows is in memory, and it runs
//! nothing: images are looked up in their registry and archives are checked, then a revision counts as deployed.

mod answer;
mod archive;
mod body;
mod connection;
mod deployments;
mod error;
mod faults;
mod keys;
mod logs;
mod merge;
mod query;
mod registry;
mod repositories;
mod revisions;
mod routes;
mod rules;
mod store;
mod transfer;
mod uploads;
mod worker;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use uuid::Uuid;

use crate::api::Vocabulary;
use crate::api::wire::{Repository, Source};
use store::Store;
use uploads::Uploads;

pub use error::Error;
pub use faults::Faults;
pub use keys::Keys;
pub use registry::{Login, Registry};
pub use routes::{Basis, ROUTES, Route};
pub use uploads::LARGEST_UPLOAD;

/// How the service is run.
pub struct Options {
    /// Address to listen on.
    pub host: String,
    /// Port to listen on; 0 for any.
    pub port: u16,
    /// Who may ask.
    pub keys: Keys,
    /// Whose words are spoken.
    pub vocabulary: Vocabulary,
    /// Whether images of anywhere are deployed, and nothing else is; otherwise it is the other way round.
    pub is_self_hosted: bool,
    /// How long a revision stays in a status.
    pub pace: Duration,
    /// How often a deployment that is deployed writes to its log; never where it is `None`.
    pub heartbeat: Option<Duration>,
    /// Where images are pushed to; without it there are no push tokens, and images are not looked up.
    pub registry: Option<Registry>,
    /// The repositories of all integrations.
    pub repositories: Vec<Repository>,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// What clients may take.
    pub limits: Limits,
}

/// What clients may take, so that none takes everything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many connections are served at once; more wait to be accepted.
    pub connections: usize,
    /// How long the header of a request may take, the pause before it counted in.
    pub header: Duration,
    /// How long the body of a request may take, uploads excepted.
    pub body: Duration,
    /// How long the next piece of an upload may take.
    pub piece: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let patience = Duration::from_secs(30);
        Self { connections: 256, header: patience, body: patience, piece: patience }
    }
}

/// A service that listens.
pub struct Service {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What all requests share.
struct Shared {
    store: Store,
    uploads: Uploads,
    options: Options,
    address: SocketAddr,
    /// UUID of whoever has the keys.
    tenant: String,
    /// Whose turn it is among the revisions of a deployment.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Shared {
    /// A source, in the words that are spoken.
    fn word(&self, source: &Source) -> String {
        let mut record = serde_json::json!({ "source": source });
        self.options.vocabulary.exchange(&mut record);
        record["source"].as_str().unwrap_or_default().to_owned()
    }
}

impl Service {
    /// Listens, without answering as yet.
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let refused = |source| Error::Bind { host: options.host.clone(), port: options.port, source };
        let listener = TcpListener::bind((&*options.host, options.port)).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let uploads = Uploads::new().map_err(|source| Error::Uploads { source })?;
        let tenant = Uuid::new_v4().to_string();
        let (store, turns) = (Store::default(), Mutex::default());
        let shared = Arc::new(Shared { store, uploads, options, address, tenant, turns });
        Ok(Self { listener, address, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `end`.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let router = routes::router(self.shared.clone());
        connection::serve(self.listener, router, self.shared, end).await;
    }
}

/// Whoever panicked with the lock left nothing half done: what is locked is changed in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
