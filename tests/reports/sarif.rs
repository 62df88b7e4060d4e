//! SARIF against its published schema. The schema is in a crate that no target depends on, so that only `tests/run`
//! downloads it.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::harness::{TestEnv, fixtures};

#[test]
fn output_matches_the_schema() {
    // One pattern of the published schema has a bracket too many, so it is not a regular expression.
    let schema = fs::read_to_string(sarif_schema()).unwrap().replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = TestEnv::project().run("validate --format sarif").out;
    let invalid =
        TestEnv::inside(&fixtures("reports")).run("validate agent.json missing.json --format sarif").out;
    for log in [valid, invalid] {
        let log: Value = serde_json::from_str(&log).unwrap();
        let errors: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    assert!(
        !validator.is_valid(&serde_json::json!({ "version": "2.1.0", "runs": [{}] })),
        "the schema checks nothing"
    );
}

/// The `serde-sarif` package contains the schema as published by OASIS.
fn sarif_schema() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").unwrap();
    PathBuf::from(package["manifest_path"].as_str().unwrap()).with_file_name("src").join("schema.json")
}
