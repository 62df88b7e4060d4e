//! The `agentcli-host` executable.

use std::process::ExitCode;

use agentcli::cli::env::Env;

fn main() -> ExitCode {
    agentcli::cli::guarded(|| agentcli_host::run(&mut Env::from_process()))
}
