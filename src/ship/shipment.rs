//! One deployment of the project, and what comes of it.

use super::Service;
use super::request::Request;
use crate::api::wire::Deployment;

/// A deployment of the project, whose steps are in the files of this room.
pub(super) struct Shipment<'a, H> {
    pub(super) request: &'a Request,
    pub(super) service: Service,
    pub(super) hooks: &'a mut H,
}

/// A revision that was just created.
pub(super) struct NewRevision {
    /// The deployment, since the revision was created.
    pub(super) deployment: Deployment,
    pub(super) id: String,
}
