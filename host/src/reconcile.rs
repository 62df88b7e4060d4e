//! The reconciler: brings what runs in line with what is deployed.

mod action;
mod acts;
mod decide;
mod level;
mod load;
mod log_buffer;
mod memory;
mod recorder;
mod routing;
mod shares;
mod state;
mod troubles;
mod worker;

pub(crate) use recorder::Recorder;
pub(crate) use worker::Reconciler;
