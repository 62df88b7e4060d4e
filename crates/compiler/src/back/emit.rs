//! Plan → artifacts, one module each. They make no decisions.

pub mod compose;
pub mod dockerfile;
pub mod graph;
pub mod heading;
mod quote;
pub mod template;
mod yaml;
