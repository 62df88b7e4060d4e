//! `agentcli lsp`, driven over its pipes.

mod client;
mod findings;
mod lifecycle;
