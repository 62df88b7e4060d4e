//! The registry of this host, which images of deployments are pushed to: the part of the OCI distribution specification that
//! pushes and pulls need.
//!
//! The repository of a deployment is `images/NAME`. Blobs are files in a directory for each deployment, named by their
//! digest, and appear there when they are whole, verified and on the disk; manifests and tags are in the database. A push
//! token gives access to one repository.

mod access;
mod blobs;
mod distribution;
mod external;
mod fault;
mod manifests;
mod routes;
mod sweep;
mod uploads;

pub(crate) use distribution::{Distribution, addresses};
pub use external::{Login, Registry};
pub(crate) use routes::router;
