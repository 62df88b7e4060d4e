//! The project, deployed to a deployment service: as an image that is built here and pushed to the service's registry or
//! the user's, as packed source that the service builds, or from the repository that the deployment has.
//!
//! [`run`] finds or creates the deployment, makes a revision and waits until it is deployed. Each step can be repeated:
//! a run that was interrupted leaves nothing that the next one has to clean up.

mod deploy;
mod error;
mod event;
mod follow;
mod image;
mod name;
mod placement;
mod rehearse;
mod request;
mod service;
mod shipment;
mod shown;
mod source;

pub use deploy::run;
pub use error::Error;
pub use event::Hooks;
pub use follow::{failed, serving_instead, still_serves};
pub use image::{PLATFORM, external_image, local_image};
pub use name::slug;
pub use request::{Method, Placement, Request, Target};
pub use service::Service;
pub use shown::{LogPass, ShownEntries};
