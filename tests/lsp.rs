//! `agentcli lsp`, driven over its pipes.

mod client;
mod completion;
mod findings;
mod lifecycle;
mod navigation;
