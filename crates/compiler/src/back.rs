//! Configuration → resolved → plan → artifacts, and the setup that runs in containers.

pub mod emit;
pub mod lower;
pub mod plan;
mod resolve;
