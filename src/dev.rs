//! The agent server on this machine: its environment, its process, and its reloads.
//!
//! What happens is told as [`Event`]s; what only the user can say is asked through [`Hooks`].

mod browser;
mod environment;
mod error;
mod event;
mod interpreter;
mod lock;
mod node;
mod node_modules;
mod port;
mod provision;
mod server;
mod session;
mod state;
mod supervise;
mod traceback;
mod tunnel;

pub use crate::project::HOME;
pub use browser::open_browser;
pub use error::Error;
pub use event::{Crash, Event, Urls};
pub use session::{Consent, Debugger, Hooks, Options, Port, Session, Surroundings, Tls};
pub use supervise::run;
