//! The agent server on this machine: its environment, its process, and its reloads.
//!
//! It reports [`Event`](crate::live::Event)s, and asks the user through [`Hooks`].

mod address;
mod answer;
mod candidates;
mod databases;
mod environment;
mod error;
mod guard;
mod installer;
mod interpreter;
mod lock;
mod missing;
mod node;
mod node_modules;
pub mod page;
mod port;
pub mod prerequisites;
mod provision;
mod search;
mod server;
mod session;
mod standby;
mod state;
mod story;
mod supervise;
mod traceback;
mod tunnel;

pub use crate::project::HOME;
pub use error::Error;
pub use lock::running_url;
pub use port::{Bound, bind};
pub use session::{Debugger, Hooks, Options, Port, Selection, Session, Surroundings, Tls};
pub use supervise::run;
pub use traceback::crash_cause;
