//! The program, as it is installed.

use std::process::Command;

/// `agentcli host` hands over to this program; the workspace's tests run everything else through it.
#[test]
fn the_help_names_the_commands() {
    let output = Command::new(env!("CARGO_BIN_EXE_agentcli-host")).arg("--help").output().unwrap();
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("serve"), "{help}");
}
