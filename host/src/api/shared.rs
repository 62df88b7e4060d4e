//! The options of the service, and the state that all requests share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;

use agentcli::api::Vocabulary;
use agentcli::api::wire::{Listener, Source};

use super::receiving::Receiving;
use crate::net::counts::Counts;
use crate::net::limits::Limits;
use crate::net::tls::{self, Tls};
use crate::registry::{Distribution, Registry};
use crate::runner::code_host::{Repositories, Webhook};
use crate::store::Store;

/// Options of the service.
pub struct Options {
    /// Address to listen on; port 0 for any.
    pub listen: SocketAddr,
    /// Address of the proxy to the deployments; port 0 for any.
    pub proxy: SocketAddr,
    /// The certificate of both; without one, clients connect without TLS.
    pub tls: Option<Tls>,
    /// API dialect.
    pub vocabulary: Vocabulary,
    /// Whether it deploys images of external registries only (self-hosted), or all other sources.
    pub is_self_hosted: bool,
    /// The registry for images [default: that of the service].
    pub registry: Option<Registry>,
    /// The repositories of all integrations; without any, those of new deployments are not checked.
    pub repositories: Repositories,
    /// The repositories whose pushes are received.
    pub webhooks: Vec<Webhook>,
    /// Directory of the templates; without one, there are none.
    pub templates: Option<PathBuf>,
    /// The listeners; without any, those of new deployments are not checked.
    pub listeners: Vec<Listener>,
    /// Limits for clients.
    pub limits: Limits,
    /// Receives notices for the operator, as lowercase fragments: trouble, and its end.
    pub notices: Arc<dyn Fn(&str) + Send + Sync>,
}

/// State shared by all requests.
pub(crate) struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) distribution: Arc<Distribution>,
    pub(crate) options: Options,
    /// Connections by tenant.
    pub(crate) connections: Counts<String>,
    /// Archives in transfer.
    pub(crate) receiving: Receiving,
    /// Addresses of the service and of its proxy.
    pub(crate) address: SocketAddr,
    pub(crate) proxy: SocketAddr,
    /// Wakes the reconciler.
    pub(crate) wake: Arc<Notify>,
}

impl Shared {
    /// The scheme of its URLs, and of those of deployments.
    pub(crate) fn scheme(&self) -> &'static str {
        tls::scheme(self.options.tls.as_ref())
    }

    /// A source in the dialect of the service.
    pub(crate) fn word(&self, source: &Source) -> String {
        let mut record = serde_json::json!({ "source": source });
        self.options.vocabulary.exchange(&mut record);
        record["source"].as_str().unwrap_or_default().to_owned()
    }
}
