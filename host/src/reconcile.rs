//! The reconciler: brings what runs in line with what is deployed.

mod action;
mod acts;
mod decide;
mod journal;
mod memory;
mod routing;
mod state;
mod worker;

pub use action::Action;
pub use decide::{DEFAULT_GRACE, IDLE, KEPT_IMAGES, MAX_ATTEMPTS, START_LIMIT, STOP_MARGIN, decide};
pub use journal::{Journal, PhaseChange, Recorded, Stage};
pub use state::{Container, Desired, Health, Observed, Phase, Revision, Scale, Source, State};
pub use worker::Reconciler;
