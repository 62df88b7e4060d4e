//! A deployment service: it keeps what is deployed in a database, runs it in containers on this machine, and takes requests
//! to it.
//!
//! It implements the specification, and where that is silent, it behaves like the public service;
//! docs/deployment-service.md lists both.
//!
//! - The handlers of the `api` change the database of the `store`, in one transaction each, and wake the reconciler.
//! - The [`reconcile`]r compares the database with the containers of the engine, and does what [`reconcile::decide`] says.
//! - The [`runner`] does single acts on the engine.
//! - The [`proxy`] takes requests to the containers.
//! - The `registry` takes the images that clients push.
//! - `net` accepts the connections of all of them; `service` starts and ends them, and `command` is the command line.

mod api;
mod command;
mod error;
mod net;
pub mod proxy;
pub mod reconcile;
mod registry;
pub mod runner;
mod service;
mod store;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use api::openapi::openapi;
pub use api::repositories::Repositories;
pub use api::routes::{Basis, OPEN_ROUTES, ROUTES, Route};
pub use api::uploads::LARGEST_UPLOAD;
pub use api::webhook::Webhook;
pub use command::run;
pub use error::Error;
pub use net::keys::token;
pub use net::tls::{Tls, TlsError};
pub use registry::{Login, Registry, RegistryLimits};
pub use runner::AllowedImages;
pub use service::{Limits, Options, Service};
pub use store::quota::Quota;
pub use store::{Access, Broken, DEFAULT_TENANT, Error as StoreError, Inspection, Store, TenantQuota};

/// Locks `mutex`, even if it is poisoned: locked data is changed in one step, so a panic leaves it consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
