//! The `agentcli` executable.

use std::process::ExitCode;

use agentcli::cli::env::Env;

fn main() -> ExitCode {
    let code = agentcli::cli::guarded(|| agentcli::cli::run(&mut Env::from_process()));
    // A thread that was working for the command may not have dropped its children yet.
    agentcli::child::kill_all();
    code
}
