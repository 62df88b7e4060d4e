//! What all long-running commands share: how they are stopped, and how they read lines.

mod lines;
mod stop;

pub use lines::{LineSender, Lines, Splitter, lines, read_lines};
pub use stop::{Interrupted, Level, Stop};
