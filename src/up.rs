//! The whole server in containers: what [`Setup`](crate::compiler::back::plan::Setup) says, made true on an engine.
//!
//! What is there is compared with what should be there, by a hash of its definition in a label; only what differs is
//! made anew. Nothing is remembered elsewhere, so whatever an earlier run left, however it ended, the next one goes on
//! from there. The labels and names are those of docker compose, whose `ls`, `ps`, `logs` and `down` work on it.

mod change;
mod definition;
mod down;
mod end;
mod error;
mod images;
mod labels;
mod logs;
mod owner;
mod port;
mod rebuild;
mod reconcile;
mod replaced;
mod session;
mod stop;
mod supervise;
mod turn;

pub use down::down;
pub use error::Error;
pub use images::images as provide;
pub use owner::check;
pub use session::{Hooks, Image, Mode, Options, Session};
pub use supervise::run;
pub use turn::{Turn, turn};
