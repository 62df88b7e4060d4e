//! Configuration → plan → artifacts.

pub mod emit;
pub mod lower;
pub mod plan;
mod resolve;
