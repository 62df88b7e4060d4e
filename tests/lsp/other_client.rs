//! The language server with a client that is not ours.

use std::path::Path;
use std::process::Command;

use crate::harness::python;

#[test]
fn another_client_can_work_with_it() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lsp/other_client.py");
    let settings = ["asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function"];
    let output = Command::new(python())
        .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", settings[0], "-o", settings[1]])
        .arg(script)
        .env("AGENTCLI", crate::harness::program())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("3 passed"), "{said}");
}
