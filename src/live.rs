//! What all long-running commands share.

mod stop;

pub use stop::{Interrupted, Level, Stop};
