//! A fuzzer that is not ours, driven by the OpenAPI description, finds nothing that is not described.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::service::{Host, KEY, ended};
use super::{created, deployed, image};
use crate::harness::python;

/// How long the fuzzer may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Checks that hold for every response. The rest ask for what the service does not promise: that every request of the
/// described form is accepted, although fields depend on one another, and that unknown forms of a value are refused.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,unsupported_method,ignored_auth,\
                      use_after_free";

/// The service of this test has the stand-in for an engine, so that any number of revisions is deployed at once.
#[test]
fn schemathesis_finds_nothing() {
    let host = Host::start(|_| {});
    let deployment = created(&host, "app");
    deployed(&host, &deployment, &image('1'));
    let directory = tempfile::tempdir().unwrap();
    let mut tool = Command::new(python().with_file_name("schemathesis"));
    tool.args(["run", &format!("{}/openapi.json", host.url()), "--header", &format!("X-Api-Key: {KEY}")])
        .args(["--checks", CHECKS, "--no-color", "--no-shrink", "--generation-database", "none"])
        .args(["--warnings", "off", "--continue-on-failure"])
        .args(["--max-examples", "15", "--generation-deterministic"]);
    let child = tool
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("schemathesis: {error}; tests/python/install installs it"));
    let output = ended(child, PATIENCE);
    let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
}
