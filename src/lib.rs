//! agentcli: a config compiler and build toolchain for agent servers.

pub mod cli;
pub mod compiler;
pub mod context;
pub mod diagnostic;
pub mod engine;
pub mod error;
pub mod project;
