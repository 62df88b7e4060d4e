//! The agent server on this machine: its environment, its process, and its reloads.
//!
//! Only here child processes are started. Every one of them runs under a [`guard`], so that none outlives this
//! program, however it ends. What happens is told as [`Event`]s; what only the user can say is asked through
//! [`Hooks`].

mod browser;
mod child;
mod command;
mod environment;
mod error;
mod event;
pub mod guard;
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

pub use browser::open_browser;
pub use error::Error;
pub use event::{Crash, Event, Urls};
pub use session::{Consent, Debugger, Hooks, Options, Port, Session, Surroundings, Tls};
pub use supervise::run;

/// Where everything lies that this program keeps in a project, relative to the configuration's directory.
pub const HOME: &str = ".agentcli";
