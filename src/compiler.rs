//! The compiler: `agent.json` in, a typed plan and its renderings out. Pure: it opens no file and prints nothing.

pub mod document;
pub mod source;
pub mod config;
pub mod files;
pub mod paths;
pub mod reference;
pub mod schema;
