//! What is refused before anything is built or changed.

use std::fs;

use super::Place;
use super::stand_in::{SERVES, deploy, image};

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
    place.kubectl(&["create", "configmap", "shop-revision-1"]);
    place.fails(&words, 2, "ConfigMap shop-revision-1");
    place.kubectl(&["delete", "configmap", "shop-revision-1"]);
    place.kubectl(&["create", "secret", "generic", "shop-env", "--from-literal=MINE=x"]);
    place.kubectl(&["label", "secret", "shop-env", "app.kubernetes.io/managed-by=Helm"]);
    place.fails(&words, 2, "Secret shop-env");
    place.kubectl(&["delete", "secret", "shop-env"]);

    place.kubectl(&["create", "quota", "small", "--hard=pods=0"]);
    place.fails(&words, 2, "exceeded quota");
    place.kubectl(&["delete", "quota", "small"]);
    place.fails(&words.replace("--server pg", ""), 2, "the server needs a licence key or an API key");
    let pull = format!("{words} --resource image_pull_secrets=[{{\"name\":\"absent\"}}]");
    place.fails(&pull, 2, "there is no Secret `absent` to pull images with");
    let large = format!("LARGE={}", "x".repeat(1_100_000));
    let (config, file) = (place.env.path("agent.json"), place.env.path("large.env"));
    let text = fs::read_to_string(&config).unwrap();
    fs::write(file, large).unwrap();
    let (before, _) = text.split_once(r#""env""#).unwrap();
    fs::write(&config, format!(r#"{before}"env": "large.env" }}"#)).unwrap();
    place.fails(&words, 2, "Too long");
    fs::write(config, text).unwrap();
    let no_cluster = place.kubeconfig("unreachable.yaml", |config| {
        config
            .lines()
            .map(|line| match line.split_once("server: ") {
                Some((before, rest)) => {
                    let after = rest.find(',').map_or("", |comma| &rest[comma..]);
                    format!("{before}server: \"https://127.0.0.1:1\"{after}\n")
                }
                None => format!("{line}\n"),
            })
            .collect()
    });
    let (code, text) = no_cluster(&place, &words);
    assert!(code == 4 && text.contains("cannot reach the cluster"), "{text}");
    // Nothing was made.
    let made = place.get(&["all,configmaps,secrets,leases", "-l", "app.kubernetes.io/instance=shop"]);
    assert_eq!(made["items"], serde_json::json!([]));
}

#[test]
fn rights_are_those_for_the_kinds_that_a_deployment_has() {
    let place = Place::shop("rights");
    let words = deploy(&image("rights-1:1", SERVES));
    place.kubectl(&["create", "serviceaccount", "poor"]);
    let allow = |name: &str, verbs: &str, resources: &str| {
        place.kubectl(&["create", "role", name, "--verb", verbs, "--resource", resources]);
        let account = format!("--serviceaccount={}:poor", place.namespace);
        place.kubectl(&["create", "rolebinding", name, "--role", name, &account]);
    };
    allow("poor", "get,list", "configmaps,secrets,namespaces");
    let token = place.kubectl(&["create", "token", "poor"]);
    let poor = place.kubeconfig("poor.yaml", |config| {
        let users = config.find("users:").unwrap();
        format!("{}users:\n- name: admin\n  user: {{token: {}}}\n", &config[..users], token.trim())
    });
    let (code, text) = poor(&place, &words);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("you may not") && text.contains("create/patch/delete configmaps"), "{text}");
    assert!(!text.contains("ingresses") && !text.contains("statefulsets"), "{text}");

    allow("objects", "get,list,create,patch,delete", "configmaps,services,deployments.apps,jobs.batch");
    allow("secrets", "get,create,patch,delete", "secrets");
    allow("leases", "get,create,update,delete", "leases.coordination.k8s.io");
    allow("progress", "list", "pods,events");
    for words in [&*words, "restart shop --yes", "rollback shop --yes", "get shop", "delete shop --yes"] {
        let (code, text) = poor(&place, words);
        assert_eq!(code, 0, "{words}: {text}");
    }
    assert_eq!(place.ours(super::OBJECTS), Vec::<serde_json::Value>::new());
}
