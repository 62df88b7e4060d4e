//! Runs the graphs of an agent server over its API, reads the events of a run, and serves a page for the server.
//!
//! The server is not trusted: redirects are errors, and every event and response has a limit. Dropping a stream cancels
//! its run.

mod error;
mod event;
mod front;
mod server;
mod sse;

pub use error::Error;
pub use event::{Event, Token, answer};
pub use front::{Front, Page};
pub use server::{Assistant, Header, Run, Server, Start, Stream};
