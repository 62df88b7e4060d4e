//! The parts that all long-running commands share: stopping, the loop, lines, events and URLs.

mod event;
mod lines;
mod relay;
mod signals;
mod sources;
mod stop;
mod urls;

pub use event::{Change, Crash, Event, FieldChange, Reporter, Request, Run};
pub use lines::{LineSender, Lines, Splitter, lines, read_lines};
pub use relay::relay;
pub use sources::{Happening, Sources};
pub use stop::{Interrupted, Level, Stop};
pub use urls::{Urls, mount_prefix};
