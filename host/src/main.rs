//! The `agentcli-host` executable.

use std::process::ExitCode;

use agentcli::cli::env::Env;

fn main() -> ExitCode {
    let code = agentcli::cli::guarded(|| agentcli_host::run(&mut Env::from_process()));
    // A build that was cut off may not have dropped its children yet.
    agentcli::child::kill_all();
    code
}
