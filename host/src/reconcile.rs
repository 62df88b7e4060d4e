//! The reconciler: brings what runs in line with what is deployed.

mod action;
mod acts;
mod database_journal;
mod decide;
mod journal;
mod level;
mod load;
mod log_buffer;
mod memory;
mod routing;
mod shares;
mod state;
mod troubles;
mod worker;

pub use action::Action;
pub(crate) use database_journal::DatabaseJournal;
pub use decide::{DEFAULT_GRACE, IDLE, KEPT_IMAGES, MAX_ATTEMPTS, START_LIMIT, STOP_MARGIN, decide};
pub use journal::{Journal, Output, PhaseChange, Recorded, Stage};
pub use state::{Container, Desired, Health, Load, Observed, Phase, Revision, Scale, Source, State};
pub use worker::Reconciler;
