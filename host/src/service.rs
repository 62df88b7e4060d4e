//! The service: it binds its addresses, and runs the API, the registry, the proxy and the reconciler.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;

use agentcli::project;

use crate::api::routes;
use crate::api::shared::{Options, Shared};
use crate::net::connection;
use crate::net::counts::Counts;
use crate::net::tls::TlsError;
use crate::proxy::{self, Proxy, Routes};
use crate::reconcile::{Reconciler, Recorder};
use crate::registry::Distribution;
use crate::runner::Runner;
use crate::store::{self, Store};

/// A listening service.
pub struct Service<R> {
    listener: TcpListener,
    proxy: Proxy,
    reconciler: Reconciler<R>,
    shared: Arc<Shared>,
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
        store.remove_partial_archives()?;
        store.measure_archives().await?;
        let registry = options.registry.clone();
        let distribution = Distribution::new(store.clone(), address, registry, options.limits);
        let distribution = Arc::new(distribution.map_err(Error::Runner)?);
        let (templates, repositories) = (options.templates.clone(), Arc::new(options.repositories.clone()));
        let recorder = Recorder::new(store.clone(), distribution.clone(), templates, repositories)?;
        let reconciler = Reconciler::new(recorder, runner, routes, options.notices.clone());
        let wake = reconciler.wake();
        let shared = Arc::new(Shared {
            store,
            distribution,
            options,
            connections: Counts::default(),
            receiving: Default::default(),
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

/// A failed start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be bound.
    #[error("cannot listen on {address}: {}", project::reason(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The reason of the system.
        source: io::Error,
    },
    /// Others can reach the address, and there is no API key.
    #[error("cannot listen on {address}: other machines can reach it, and there is no API key")]
    NoKeys {
        /// The address.
        address: SocketAddr,
    },
    /// The runner cannot be set up.
    #[error("cannot run deployments: {0}")]
    Runner(String),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The database failed.
    #[error(transparent)]
    Broken(#[from] store::Broken),
}

impl Error {
    /// The next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("the port is in use; choose another one, or 0 for any".to_owned())
            }
            Self::Bind { .. } | Self::Runner(_) => None,
            Self::NoKeys { .. } => Some("run `agentcli host keys create` with the same --data".to_owned()),
            Self::Broken(_) => None,
            Self::Tls(error) => error.hint().map(str::to_owned),
            Self::Store(error) => error.hint(),
        }
    }
}

impl From<Error> for agentcli::error::Error {
    fn from(error: Error) -> Self {
        Self::Host { message: error.to_string(), hint: error.hint() }
    }
}
