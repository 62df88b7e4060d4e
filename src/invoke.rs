//! Runs the graphs of an agent server over its API, and reads the events of a run.
//!
//! The server is not trusted: redirects are errors, and every event and response has a limit. Dropping a stream cancels
//! its run.

mod error;
mod event;
mod server;
mod sse;

pub use error::Error;
pub use event::{Event, Token, answer};
pub use server::{Assistant, Header, Run, Server, Start, Stream};
