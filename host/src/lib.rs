//! A deployment service: it keeps what is deployed in a database, runs it in containers on this machine, and takes requests
//! to it.
//!
//! It implements the specification, and where that is silent, it behaves like the public service;
//! docs/deployment-service.md lists both.
//!
//! - The handlers of the `api` change the database of the `store`, in one transaction each, and wake the reconciler.
//! - The `reconcile`r compares the database with the containers of the engine, and does what `reconcile::decide` says.
//! - The [`runner`] does single acts on the engine.
//! - The [`proxy`] takes requests to the containers.
//! - The `registry` takes the images that clients push.
//! - `net` accepts the connections of all of them; `service` starts and ends them, and `command` is the command line.
//!
//! `HOST_ROOMS` in `tests/house.rs` says which of them may use which.

mod api;
mod command;
mod lock;
mod net;
pub mod proxy;
mod reconcile;
mod registry;
pub mod runner;
mod service;
mod store;

pub use api::openapi::openapi;
pub use api::routes::{Basis, OPEN_ROUTES, ROUTES, Route};
pub use api::shared::Options;
pub use api::uploads::LARGEST_UPLOAD;
pub use command::run;
pub use net::keys::token;
pub use net::limits::{Limits, RegistryLimits};
pub use net::tls::{Tls, TlsError};
pub use registry::{Login, Registry};
pub use runner::AllowedImages;
pub use runner::code_host::{Repositories, Webhook};
pub use service::{Error, Service};
pub use store::quota::Quota;
pub use store::{Access, Broken, DEFAULT_TENANT, Error as StoreError, Inspection, Store, TenantQuota};
