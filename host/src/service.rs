//! The service: it binds its addresses, and runs the API, the registry, the proxy and the reconciler.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use agentcli::api::Vocabulary;
use agentcli::api::wire::{Listener, Source};

use crate::api::receiving::Receiving;
use crate::api::repositories::Repositories;
use crate::api::webhook::Webhook;
use crate::api::{routes, uploads};
use crate::error::Error;
use crate::net::connection;
use crate::net::counts::Counts;
use crate::net::tls::{self, Tls};
use crate::proxy::{self, Proxy, Routes};
use crate::reconcile::{DatabaseJournal, Reconciler};
use crate::registry::{Distribution, Registry, RegistryLimits};
use crate::runner::Runner;
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
}

/// Limits for clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of connections; more wait to be accepted.
    pub connections: usize,
    /// Maximum number of connections of one client address, and of one /64 of IPv6; more are refused.
    pub per_address: usize,
    /// Maximum number of connections of one tenant, by the keys on them; more are refused.
    pub per_tenant: usize,
    /// Timeout for the header of a request, including idle time before it, and for a TLS handshake.
    pub header: Duration,
    /// Timeout for the body of a request, except uploads.
    pub body: Duration,
    /// Timeout for the next chunk of an upload.
    pub piece: Duration,
    /// Time in which a client must read a part of what is sent.
    pub write: Duration,
    /// Limits of the registry.
    pub registry: RegistryLimits,
}

impl Default for Limits {
    fn default() -> Self {
        let timeout = Duration::from_secs(30);
        let registry = RegistryLimits::default();
        Self {
            connections: 512,
            per_address: 256,
            per_tenant: 64,
            header: timeout,
            body: timeout,
            piece: timeout,
            write: timeout,
            registry,
        }
    }
}

/// A listening service.
pub struct Service<R> {
    listener: TcpListener,
    proxy: Proxy,
    reconciler: Reconciler<DatabaseJournal, R>,
    shared: Arc<Shared>,
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

impl<R: Runner> Service<R> {
    /// Binds the addresses; requests are answered, and deployments run by `runner`, in [`Service::serve`].
    ///
    /// # Errors
    ///
    /// An address cannot be bound, or others can reach it and there is no API key.
    pub async fn bind(options: Options, store: Arc<Store>, runner: Arc<R>) -> Result<Self, Error> {
        if !options.listen.ip().is_loopback() && store.keys()?.is_empty() {
            return Err(Error::NoKeys { address: options.listen });
        }
        let refused = |address| move |source| Error::Bind { address, source };
        let listener = TcpListener::bind(options.listen).await.map_err(refused(options.listen))?;
        let address = listener.local_addr().map_err(refused(options.listen))?;
        let routes = Arc::new(Routes::default());
        let of_proxy = proxy::Options { tls: options.tls.clone(), ..proxy::Options::default() };
        let proxy = Proxy::bind(options.proxy, routes.clone(), of_proxy).await;
        let proxy = proxy.map_err(refused(options.proxy))?;
        let proxy_address = proxy.address().map_err(refused(options.proxy))?;
        uploads::tidy_at_start(&store)?;
        uploads::measure(&store).await?;
        let (registry, limits) = (options.registry.clone(), options.limits.registry);
        let distribution = Distribution::new(store.clone(), address, registry, limits);
        let distribution = Arc::new(distribution.map_err(Error::Runner)?);
        let (templates, repositories) = (options.templates.clone(), Arc::new(options.repositories.clone()));
        let journal = DatabaseJournal::new(store.clone(), distribution.clone(), templates, repositories)?;
        let reconciler = Reconciler::new(Arc::new(journal), runner, routes);
        let wake = reconciler.wake();
        let shared = Arc::new(Shared {
            store,
            distribution,
            options,
            connections: Counts::default(),
            receiving: Receiving::default(),
            address,
            proxy: proxy_address,
            wake,
        });
        Ok(Self { listener, proxy, reconciler, shared })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The scheme of both addresses.
    pub fn scheme(&self) -> &'static str {
        self.shared.scheme()
    }

    /// The address of the proxy.
    pub fn proxy_address(&self) -> SocketAddr {
        self.shared.proxy
    }

    /// Answers requests and runs deployments until `end`. The containers run on.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let router = routes::router(self.shared.clone());
        let Options { tls, limits, .. } = &self.shared.options;
        let (stop, stopped) = watch::channel(());
        let ended = || {
            let mut stopped = stopped.clone();
            async move { drop(stopped.changed().await) }
        };
        tokio::join!(
            async {
                end.await;
                drop(stop);
            },
            connection::serve(self.listener, tls.clone(), router, *limits, ended()),
            self.proxy.serve(ended()),
            self.shared.distribution.tidy(ended()),
            self.reconciler.run(ended()),
        );
    }
}
