//! What is refused before anything is built or changed.

use std::fs;

use super::Place;
use super::stand_in::{SERVES, deploy, image};
use crate::harness::outside;

#[test]
fn a_namespace_that_ends_is_refused() {
    let place = Place::shop("ends");
    place.kubectl(&["create", "configmap", "kept"]);
    place.kubectl(&[
        "patch",
        "configmap",
        "kept",
        "-p",
        r#"{"metadata": {"finalizers": ["agentcli.test/kept"]}}"#,
    ]);
    place.kubectl(&["delete", "namespace", &place.namespace, "--wait=false"]);
    place.fails("--name shop --server memory --image agentcli.test/busybox:1 --yes", 2, "is being deleted");
    place.kubectl(&["patch", "configmap", "kept", "-p", r#"{"metadata": {"finalizers": null}}"#]);
}

#[test]
fn what_the_cluster_would_refuse_is_refused_first() {
    let place = Place::shop("refused");
    let image = image("refused-1:1", SERVES);
    let words = deploy(&image);
    place.fails(&format!("{words} --context nowhere"), 2, "kubectl has no context `nowhere`");
    place.fails(&format!("{words} --host-url http://localhost"), 2, "does not apply to a cluster");
    let (_, text) = place.run("rollback shop --yes");
    assert!(text.contains("there is no deployment `shop`"), "{text}");
    let missing = words.replace("db/redis", "db/none");
    place.fails(&missing, 2, "the Secret `db` has no key `none`");

    place.kubectl(&["create", "configmap", "shop-config"]);
    place.fails(&words, 2, "ConfigMap shop-config");
    place.kubectl(&["delete", "configmap", "shop-config"]);

    place.kubectl(&["create", "quota", "small", "--hard=pods=0"]);
    place.fails(&words, 2, "exceeded quota");
    place.kubectl(&["delete", "quota", "small"]);
    // Nothing was made.
    assert_eq!(
        place.get(&["configmaps", "-l", "app.kubernetes.io/instance=shop"])["items"],
        serde_json::json!([])
    );

    place.kubectl(&["create", "serviceaccount", "poor"]);
    let rights = ["create", "role", "poor", "--verb=get,list", "--resource=configmaps,secrets,namespaces"];
    place.kubectl(&rights);
    let poor = format!("--serviceaccount={}:poor", place.namespace);
    place.kubectl(&["create", "rolebinding", "poor", "--role=poor", &poor]);
    let token = place.kubectl(&["create", "token", "poor"]);
    let config = fs::read_to_string(outside("AGENTCLI_TEST_CLUSTER")).unwrap();
    let users = config.find("users:").unwrap();
    let config = format!("{}users:\n- name: admin\n  user: {{token: {}}}\n", &config[..users], token.trim());
    let file = place.env.path("poor.yaml");
    fs::write(&file, config).unwrap();
    let done = place.command(&words).env("KUBECONFIG", file).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{text}");
    assert!(text.contains("you may not") && text.contains("create/patch/delete configmaps"), "{text}");
}
