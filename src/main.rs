//! The `agentcli` executable.

use std::process::ExitCode;

use agentcli::cli::env::Env;

fn main() -> ExitCode {
    agentcli::cli::guarded(|| agentcli::cli::run(&mut Env::of_process()))
}
