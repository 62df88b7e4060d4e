//! What is refused before anything is made.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{NAME, Stage, programs, run};
use crate::harness::{TestEnv, outside};

/// The image that no test of this module pulls.
const IMAGE: &str = "agentcli.test/absent:1";

/// Runs `deploy`, which has to fail with `parts` in its message, and to make nothing.
fn assert_refused(stage: &Stage, env: &TestEnv, options: &str, parts: &[&str]) {
    let output = stage.deploy_as(env, &format!("--image {IMAGE} {options}"));
    assert_ne!(output.code, 0, "{}", output.err);
    for part in parts {
        assert!(output.err.contains(part), "{part}: {}", output.err);
    }
    let made = stage.get(&[
        "deployments,statefulsets,secrets,leases",
        "--selector",
        "app.kubernetes.io/managed-by=agentcli",
    ]);
    assert_eq!(made["items"], json!([]), "{options}");
}

#[test]
fn what_is_not_there_is_named() {
    let stage = Stage::new();
    assert_refused(&stage, &stage.env(), "--context nowhere", &["no context `nowhere`", "--context"]);
    let missing = stage
        .env()
        .run(&format!("deploy --to kubernetes --namespace absent-1 --name {NAME} --image {IMAGE}"));
    assert_ne!(missing.code, 0);
    assert!(missing.err.contains("there is no namespace `absent-1`"), "{}", missing.err);
}

#[test]
fn objects_of_others_are_left_alone() {
    let stage = Stage::new();
    stage.kubectl(&["create", "service", "clusterip", NAME, "--tcp", "80"], "");
    assert_refused(&stage, &stage.env(), "", &["Service hello", "is not of this deployment"]);
}

#[test]
fn a_missing_right_is_named_with_its_verb() {
    let stage = Stage::new();
    stage.kubectl(&["create", "serviceaccount", "reader"], "");
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"] }],
    });
    stage.kubectl(&["apply", "-f", "-"], &role.to_string());
    let account = format!("{}:reader", stage.namespace);
    stage.kubectl(&["create", "rolebinding", "reader", "--role", "reader", "--serviceaccount", &account], "");
    let token = stage.kubectl(&["create", "token", "reader"], "");
    let config = stage.directory.path().join("reader.conf");
    fs::copy(outside("AGENTCLI_TEST_CLUSTER"), &config).unwrap();
    let set = |arguments: &[&str]| {
        let mut command = Command::new(programs().join("kubectl"));
        command.arg("--kubeconfig").arg(&config).arg("config").args(arguments);
        run(command, "");
    };
    set(&["set-credentials", "reader", "--token", token.trim()]);
    set(&["set-context", "--current", "--user", "reader"]);
    let env = stage.env().variable("KUBECONFIG", config.to_str().unwrap());
    assert_refused(&stage, &env, "", &["create", "deployments.apps", &stage.namespace]);
}

#[test]
fn a_quota_is_asked_before_anything_is_made() {
    let stage = Stage::new();
    stage.kubectl(&["create", "quota", "small", "--hard", "pods=0"], "");
    assert_refused(&stage, &stage.env(), "", &["exceeded quota: small"]);
}

#[test]
fn a_namespace_that_ends_is_refused() {
    let stage = Stage::new();
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "last", "finalizers": ["agentcli.test/last"] },
    });
    stage.kubectl(&["apply", "-f", "-"], &config.to_string());
    stage.kubectl(&["delete", "namespace", &stage.namespace, "--wait=false"], "");
    let output = stage.deploy(&format!("--image {IMAGE}"));
    assert_ne!(output.code, 0);
    assert!(output.err.contains("is being deleted"), "{}", output.err);
    stage.kubectl(
        &["patch", "configmap", "last", "--type", "merge", "-p", r#"{"metadata": {"finalizers": null}}"#],
        "",
    );
}

#[test]
fn a_deploy_that_runs_is_not_disturbed() {
    let stage = Stage::new();
    let lease = |seconds: u32| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": format!("{NAME}-deploy"), "annotations": { "test": seconds.to_string() } },
            "spec": { "holderIdentity": "somebody", "leaseDurationSeconds": 15 },
        })
    };
    stage.kubectl(&["apply", "-f", "-"], &lease(0).to_string());
    let is_over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        // The other one renews its Lease.
        scope.spawn(|| {
            for seconds in 1.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                stage.kubectl(&["apply", "-f", "-"], &lease(seconds).to_string());
                thread::sleep(Duration::from_millis(500));
            }
        });
        let output = stage.deploy(&format!("--image {IMAGE}"));
        is_over.store(true, Ordering::Relaxed);
        output
    });
    assert_ne!(output.code, 0);
    assert!(output.err.contains("another deploy of `hello` runs: somebody"), "{}", output.err);
}
