//! `agentcli lsp`, driven over its pipes.

mod actions;
mod client;
mod completion;
mod findings;
mod lifecycle;
mod navigation;
#[cfg(feature = "system-tests")]
mod neovim;
#[cfg(feature = "system-tests")]
mod other_client;
