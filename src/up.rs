//! The whole server in containers: creates on an engine what a [`Setup`](crate::compiler::back::plan::Setup) defines.
//!
//! A label of each container holds the hash of its definition, so that only what differs is recreated. Nothing else is
//! remembered: whatever an earlier run left, however it ended, the next one continues from there. Labels and names are
//! those of docker compose, whose `ls`, `ps`, `logs` and `down` work on the project.

mod change;
mod check;
mod definition;
mod down;
mod end;
mod error;
mod images;
mod labels;
mod logs;
mod rebuild;
mod reconcile;
mod replaced;
mod request;
mod run;
mod running;
mod session;
mod stop;
mod supervise;
mod turn;

pub use check::{check, check_default_port};
pub use down::down;
pub use end::{kill, while_responsive};
pub use error::Error;
pub use images::images as provide;
pub use replaced::Replaced;
pub use request::{Request, Variables};
pub use running::{Databases, databases, running_url};
pub use session::{Hooks, Mode, Options, Session};
pub use stop::GRACE;
pub use supervise::run;
pub use turn::{Turn, turn};
