//! A project that is built here and loaded into a cluster of this machine, and what `--save` keeps. The program that loads
//! images is a stand-in of minikube's, and a label of the node has it used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Place, beside_others, programs};
use crate::harness::{TestEnv, copy, fixtures};

/// Loads the last argument into the node.
const MINIKUBE: &str = r#"#!/usr/bin/env bash
[[ $* == "--profile test image load "* ]] && docker save "${@: -1}" | ctr --address SOCKET --namespace k8s.io images import -
"#;

/// The label, for as long as it lives.
struct Label<'a>(&'a Place);

impl<'a> Label<'a> {
    fn new(place: &'a Place) -> Self {
        place.kubectl(&["label", "nodes", "agentcli", "minikube.k8s.io/name=test"]);
        Self(place)
    }
}

impl Drop for Label<'_> {
    fn drop(&mut self) {
        self.0.kubectl(&["label", "nodes", "agentcli", "minikube.k8s.io/name-"]);
    }
}

#[test]
fn a_project_is_built_and_loaded_and_its_place_is_kept() {
    let _turn = beside_others();
    let env = TestEnv::empty();
    copy(&fixtures("valid").join("hello"), &env.path("."));
    let place = Place::new("local", env);
    let socket = programs().with_file_name("data").join("containerd.sock");
    let minikube = place.record.path().join("minikube");
    fs::write(&minikube, MINIKUBE.replace("SOCKET", socket.to_str().unwrap())).unwrap();
    fs::set_permissions(minikube, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |words: &str| {
        let output = place.agentcli(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        eprintln!("$ agentcli {words}\n{text}");
        (output.status.code().unwrap(), text)
    };
    let deploy = "deploy --name hello --server memory --no-pull --yes";
    let namespace = format!("--namespace {}", place.namespace);
    let (code, text) = run(&format!("{deploy} {namespace}"));
    assert!(
        code == 2 && text.contains("a cluster pulls its images from a registry, and none is named"),
        "{text}"
    );
    let (code, text) = run(&format!("{deploy} {namespace} --platform linux/arm64"));
    assert!(code == 2 && text.contains("linux/arm64") && text.contains("linux/amd64"), "{text}");

    let label = Label::new(&place);
    let (code, text) = run(&format!("{deploy} {namespace} --save"));
    assert!(code == 0 && text.contains("wrote agentcli.json") && text.contains("deployed hello"), "{text}");
    let saved = fs::read_to_string(place.env.path("agentcli.json")).unwrap();
    assert_eq!(
        saved,
        format!("{{\n  \"deploy\": {{\n    \"namespace\": \"{}\"\n  }}\n}}\n", place.namespace)
    );
    // The image is the same, and so is all else.
    let (code, text) = run(deploy);
    assert!(code == 0 && text.contains("revision 1 is up to date"), "{text}");
    drop(label);
    let (code, text) = run("deploy get hello");
    assert!(code == 0 && text.contains("agentcli-deploy/hello:"), "{text}");
    // Its state is on a volume.
    assert_eq!(place.get(&["persistentvolumeclaims"])["items"].as_array().unwrap().len(), 1);
    let (code, text) = run("deploy delete hello --volumes --yes");
    assert_eq!(code, 0, "{text}");
    assert_eq!(place.get(&["persistentvolumeclaims"])["items"], serde_json::json!([]));
    fs::write(place.env.path("agentcli.json"), r#"{"deploy": {"namespaces": "x"}}"#).unwrap();
    let (code, text) = run("deploy list");
    assert!(code == 2 && text.contains("cannot read `agentcli.json`: unknown field `namespaces`"), "{text}");
}
