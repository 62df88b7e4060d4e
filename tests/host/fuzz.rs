//! A fuzzer that is not ours, driven by the OpenAPI description, finds nothing that is not described.

use std::fs;
use std::process::{Command, Stdio};

use super::service::{Host, KEY, ended};
use super::{created, deployed, image};
use crate::harness::{PATIENCE, python};

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
    let revision = deployed(&host, &deployment, &image('1'));
    let revision = revision.rsplit('/').next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let settings = format!(
        r#"
[parameters]
"path.deployment_id" = "{deployment}"
"path.project_id" = "{deployment}"
"path.revision_id" = "{revision}"

[[operations]]
include-operation-id = "delete_deployment"
parameters = {{ "path.deployment_id" = "{}" }}
"#,
        created(&host, "deleted")
    );
    fs::write(directory.path().join("schemathesis.toml"), settings).unwrap();
    let child = Command::new(python().with_file_name("schemathesis"))
        .args(["run", &format!("{}/openapi.json", host.url()), "--header", &format!("X-Api-Key: {KEY}")])
        .args(["--checks", CHECKS, "--phases", "coverage,fuzzing,stateful", "--max-examples", "8"])
        .args(["--generation-deterministic", "--no-color", "--no-shrink", "--continue-on-failure"])
        // There are few archives that it finds itself.
        .args(["--suppress-health-check", "all"])
        // It reads one document of YAML only, and breaks off.
        .args(["--exclude-operation-id", "get_manifests"])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("schemathesis: {error}; tests/python/install installs it"));
    let output = ended(child, PATIENCE);
    let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !report.contains("Traceback"), "{report}");
}
