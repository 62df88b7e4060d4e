//! What all long-running commands share: how they are stopped, how they read lines, and what they report.

mod event;
mod lines;
mod reporter;
mod sources;
mod stop;
mod urls;

pub use event::{Change, Crash, Event};
pub use lines::{LineSender, Lines, Splitter, lines, read_lines};
pub use reporter::Reporter;
pub use sources::{Happening, Sources};
pub use stop::{Interrupted, Level, Stop};
pub use urls::{Urls, mount_prefix};
