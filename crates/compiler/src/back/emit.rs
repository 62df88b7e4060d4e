//! Plan → artifacts, one module each. They make no decisions.

pub mod compose;
pub mod dockerfile;
pub mod heading;
pub mod kubernetes;
mod quote;
mod yaml;
