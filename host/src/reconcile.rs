//! The reconciler: brings what runs in line with what is deployed.

mod action;
mod decide;
mod state;

pub use action::Action;
pub use decide::{DEFAULT_GRACE, IDLE, KEPT_IMAGES, MAX_ATTEMPTS, START_LIMIT, STOP_MARGIN, decide};
pub use state::{Container, Desired, Health, Observed, Phase, Revision, Scale, Source, State};
