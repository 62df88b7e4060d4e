//! The real server: from nothing to the first answer, an edit under load, a revision that does not start, and the end.

use std::fs;
use std::sync::{OnceLock, PoisonError};

use serde_json::Value;

use super::{Place, TURN, ask, load, replace, under_load};
use crate::engine::hosts;
use crate::harness::{TestEnv, copy, fixtures, until};

/// Two images of the project, of which the second one has another greeting, and those of the databases, all in the node.
fn images() -> &'static [String; 2] {
    static IMAGES: OnceLock<[String; 2]> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let hosts = hosts();
        let host = hosts.last().unwrap();
        let build = |number: u32, greeting: &str| {
            let env = TestEnv::empty().variable("DOCKER_HOST", host);
            copy(&fixtures("valid").join("hello"), &env.path("."));
            replace(&env.path("src/hello/graph.py"), "Hello", greeting);
            let tag = format!("agentcli.test/hello:{number}-{:08x}", fastrand::u32(..));
            let built = env.run(&format!("build --tag {tag} --no-pull"));
            assert_eq!(built.code, 0, "{}", built.err);
            tag
        };
        let tags = [build(1, "Hello"), build(2, "Welcome")];
        load(host, &[&tags[0], &tags[1]], &["pgvector/pgvector:pg16", "redis:6"]);
        tags
    })
}

/// Waits for a greeting of the server, by way of the API server, which learns of pods a moment after they are ready.
fn greets(place: &Place, greeting: &str) {
    let path = format!("/api/v1/namespaces/{}/services/hello:80/proxy/runs/wait", place.namespace);
    let body = place.record.path().join("run.json");
    fs::write(&body, r#"{"assistant_id": "agent", "input": {"name": "Ada"}}"#).unwrap();
    let answer = || {
        let arguments = ["create", "--raw", &path, "-f", body.to_str().unwrap()];
        let output = place.kubectl_command(&arguments).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        answer["greeting"].as_str().map_or_else(|| format!("{output:?}"), str::to_owned)
    };
    until(|| answer() == greeting, answer);
}

#[test]
fn an_edit_replaces_what_serves_and_a_broken_one_does_not() {
    let _alone = TURN.write().unwrap_or_else(PoisonError::into_inner);
    let [first, second] = images();
    let env = TestEnv::empty();
    copy(&fixtures("valid").join("hello"), &env.path("."));
    let place = Place::new("real", env);
    // The stand-in of the licensed server asks for no key, and deploys do.
    place.kubectl(&["create", "secret", "generic", "licence", "--from-literal=key=x"]);
    let key = "--secret-reference LANGGRAPH_CLOUD_LICENSE_KEY=licence/key";
    let deploy = |image: &str| format!("--name hello --yes --image {image} {key}");
    place.succeeds(&deploy(first));
    greets(&place, "Hello, Ada!");
    let again = place.succeeds(&deploy(first));
    assert!(again.contains("revision 1 is up to date"), "{again}");
    place.is_as_applied();

    let address = place.expose("hello");
    until(|| ask(&address).is_ok(), || format!("{:?}", ask(&address)));
    let (failures, (code, edited)) = under_load(&address, 50, || place.run(&deploy(second)));
    assert_eq!(code, 0, "{edited}");
    assert_eq!(failures, Vec::<String>::new());
    greets(&place, "Welcome, Ada!");
    // The Service with the labels of the deployment is not one of its objects.
    place.get(&["service", "outside"]);

    let (code, text) = place.run(&deploy("agentcli.test/absent:1"));
    assert_eq!(code, 1, "{text}");
    for part in ["revision 3 of `hello` did not start", "agentcli.test/absent:1", "revision 2 still serves"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    greets(&place, "Welcome, Ada!");

    let (code, text) = place.run(&format!("{} --atomic", deploy("agentcli.test/absent:2")));
    assert!(code == 1 && text.contains("went back to revision 2"), "{text}");
    let server = place.get(&["deployment", "hello"]);
    assert_eq!(server["spec"]["template"]["spec"]["containers"][0]["image"], **second);
    greets(&place, "Welcome, Ada!");

    // The password stays with the volume that has it.
    place.succeeds("delete hello --yes");
    place.get(&["secret", "hello-postgres"]);
    place.succeeds(&deploy(first));
    greets(&place, "Hello, Ada!");
    place.succeeds("delete hello --volumes --yes");
    assert_eq!(place.ours(super::OBJECTS).len(), 1, "more than the Service of the test");
    assert_eq!(place.get(&["persistentvolumeclaims"])["items"], serde_json::json!([]));
}
