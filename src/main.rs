//! The `agentcli` executable.

fn main() {}
