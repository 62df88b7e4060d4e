//! Images in registries of the user's: those that are there already, and the place where a new deployment runs.

use agentcli::api::Vocabulary;
use agentcli::api::wire::Listener;
use serde_json::{Value, json};

use super::{Stage, deployments, named, revisions};
use crate::host::image;
use crate::host::service::Host;
use crate::proxy::{Fault, Proxy};

const FIRST: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const SECOND: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const MISSING: &str = "aaaaaaaa-0000-4000-8000-000000000009";

fn listener(id: &str, cluster: &str, namespaces: &[&str]) -> Listener {
    let record = json!({ "id": id, "compute_type": "k8s", "compute_id": cluster,
        "compute_config": { "cluster_namespaces": namespaces } });
    serde_json::from_value(record).unwrap()
}

/// A service that deploys external images, through these listeners if there are any.
fn self_hosted(listeners: Vec<Listener>) -> Host {
    Host::start(|options| {
        options.is_self_hosted = true;
        options.listeners = listeners;
    })
}

/// The error of a run that fails before anything is created.
fn refusal(host: &Host, arguments: &str) -> String {
    let before = deployments(host).len();
    // An engine would be looked for there.
    let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", "unix:///nonexistent.sock"));
    let output = stage.deploy(arguments);
    assert_eq!(output.code, 2, "{arguments}: {}", output.err);
    assert_eq!(deployments(host).len(), before, "{arguments}");
    output.err.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_existing_image_is_deployed_by_the_creation_and_then_by_changes() {
    for (vocabulary, source) in
        [(Vocabulary::Specification, "external_container"), (Vocabulary::Public, "external_docker")]
    {
        let host = Host::start(|options| {
            options.is_self_hosted = true;
            options.vocabulary = vocabulary;
        });
        let stage =
            Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", "unix:///nonexistent.sock"));
        let dialect = if vocabulary == Vocabulary::Public { "--vocabulary public" } else { "" };
        let deploy = |digit| stage.events(&format!("--name x --image-uri {} {dialect}", image(digit)));
        let first = deploy('a');
        assert!(named(&first, "built").is_empty() && named(&first, "pushed").is_empty());
        assert_eq!(
            (named(&first, "created").len(), &first.last().unwrap()["status"]),
            (1, &json!("deployed"))
        );
        let [found] = &deployments(&host)[..] else { panic!("not one deployment") };
        assert_eq!(
            (&found["source"], &found["source_config"]["resource_spec"]),
            (&json!(source), &json!({}))
        );
        assert_eq!(found["source_revision_config"]["image_uri"], json!(image('a')));
        assert_eq!(revisions(&host, found).len(), 1);
        let second = deploy('b');
        assert!(named(&second, "created").is_empty());
        assert_eq!(second.last().unwrap()["status"], "deployed");
        let made = revisions(&host, found);
        assert_eq!((made.len(), &made[0]["source"]), (2, &json!(source)));
        assert_eq!(made[0]["source_revision_config"]["image_uri"], json!(image('b')));
    }
}

#[test]
fn a_lost_answer_creates_one_deployment_with_one_revision() {
    for fault in [Fault::Lost, Fault::ResetInAnswer, Fault::Reset, Fault::GATEWAY] {
        let host = self_hosted(Vec::new());
        let proxy = Proxy::start(host.address());
        proxy.fail("POST", "/v2/deployments", fault, 1);
        let events = Stage::new(&proxy.url()).events(&format!("--name x --image-uri {}", image('a')));
        assert_eq!(events.last().unwrap()["status"], "deployed");
        let [found] = &deployments(&host)[..] else { panic!("not one deployment") };
        assert_eq!(revisions(&host, found).len(), 1);
    }
}

#[test]
fn deployments_of_other_sources_are_refused_before_anything_is_built() {
    let host = Host::start(|_| {});
    Stage::new(&host.url()).events("--name x --remote");
    for option in ["--push-to registry.example/app", &format!("--image-uri {}", image('a'))] {
        let said = refusal(&host, &format!("--name x {option}"));
        assert!(said.contains("it was created from internal_source"), "{said}");
    }
    assert_eq!(revisions(&host, &deployments(&host)[0]).len(), 1);
}

#[test]
fn a_deployment_from_an_external_image_takes_nothing_else() {
    let host = self_hosted(Vec::new());
    Stage::new(&host.url()).events(&format!("--name x --image-uri {}", image('a')));
    for option in ["--remote", "--no-remote", "--image y", "--revision-source codehost", ""] {
        let said = refusal(&host, &format!("--name x {option}"));
        assert!(said.contains("--push-to") && said.contains("--image-uri"), "{option}: {said}");
    }
    let said = refusal(&host, &format!("--name x --image-uri {} --image-pull-secret a", image('b')));
    assert!(said.contains("leave out --listener-id, --k8s-namespace and --image-pull-secret"), "{said}");
    assert_eq!(revisions(&host, &deployments(&host)[0]).len(), 1);
}

#[test]
fn options_that_do_not_go_together_are_refused_without_a_call() {
    let host = self_hosted(Vec::new());
    let proxy = Proxy::start(host.address());
    let stage = Stage::new(&proxy.url());
    let uri = image('a');
    for arguments in [
        "--image-uri registry.example/app",
        "--image-uri registry.example/app@sha256:abc",
        &format!("--push-to {uri}"),
        "--push-to Registry.example/APP",
        &format!("--image-uri {uri} --push-to registry.example/app"),
        &format!("--image-uri {uri} --image y"),
        &format!("--image-uri {uri} -t v1"),
        &format!("--image-uri {uri} --remote"),
        &format!("--image-uri {uri} --no-remote"),
        "--push-to registry.example/app --remote",
        "--push-to registry.example/app:v2 -t v1",
        "--listener-id x",
        "--remote --k8s-namespace x",
        "--image-pull-secret x",
        &format!("--image-uri {uri} --image-pull-secret A_b"),
        &format!("--deployment-id {MISSING} --image-uri {uri} --listener-id x"),
    ] {
        let output = stage.deploy(arguments);
        assert_eq!(output.code, 2, "{arguments}: {}", output.err);
    }
    assert_eq!(proxy.heads(), Vec::<String>::new());
}

#[test]
fn a_new_deployment_gets_its_listener_namespace_and_secrets() {
    let host =
        self_hosted(vec![listener(FIRST, "alpha", &["one", "two"]), listener(SECOND, "beta", &["only"])]);
    let stage = Stage::new(&host.url());
    let uri = image('a');
    for (name, options, listener, namespace) in [
        ("a", format!("--listener-id {FIRST} --k8s-namespace two"), FIRST, "two"),
        ("b", format!("--listener-id {SECOND}"), SECOND, "only"),
        ("c", format!("--listener-id {} --k8s-namespace only", SECOND.to_uppercase()), SECOND, "only"),
    ] {
        let secrets = "--image-pull-secret s1 --image-pull-secret s2.example";
        let events = stage.events(&format!("--name {name} --image-uri {uri} {options} {secrets}"));
        assert_eq!(events.last().unwrap()["status"], "deployed");
        let found = deployments(&host).remove(0);
        let config = &found["source_config"];
        assert_eq!(config["listener_id"], json!(listener));
        assert_eq!(config["listener_config"], json!({ "cluster_namespace": namespace }));
        let secrets = json!({ "image_pull_secrets": [{ "name": "s1" }, { "name": "s2.example" }] });
        assert_eq!(config["resource_spec"], secrets);
    }
    let events = stage.events(&format!("--name d --image-uri {uri} --listener-id {SECOND} --dry-run"));
    let planned = named(&events, "would")[0];
    let expected = format!(
        "deployment `d`, from an external image, on listener {SECOND} in namespace `only`, no secrets"
    );
    assert_eq!((&planned["step"], &planned["message"]), (&json!("create"), &json!(expected)));
}

#[test]
fn the_only_listener_is_found_by_a_namespace() {
    let host = self_hosted(vec![listener(FIRST, "alpha", &["one", "two"])]);
    Stage::new(&host.url()).events(&format!("--name x --image-uri {} --k8s-namespace two", image('a')));
    let config: Value = deployments(&host).remove(0)["source_config"].clone();
    assert_eq!(
        (&config["listener_id"], &config["listener_config"]["cluster_namespace"]),
        (&json!(FIRST), &json!("two"))
    );
}

#[test]
fn a_listener_that_is_not_clear_is_refused_with_the_choice() {
    let all = vec![listener(FIRST, "alpha", &["one", "two"]), listener(SECOND, "beta", &[])];
    let host = self_hosted(all);
    let none = self_hosted(Vec::new());
    let both = format!("pass --listener-id with one of {FIRST} (alpha), {SECOND} (beta)");
    let uri = image('a');
    for (host, options, expected) in [
        (
            &host,
            format!("--listener-id {MISSING}"),
            vec![format!("there is no listener `{MISSING}`"), both.clone()],
        ),
        (
            &host,
            "--listener-id alpha".to_owned(),
            vec!["there is no listener `alpha`".to_owned(), both.clone()],
        ),
        (&host, "--k8s-namespace one".to_owned(), vec!["there are several listeners".to_owned(), both]),
        (
            &host,
            format!("--listener-id {FIRST}"),
            vec!["has several namespaces".to_owned(), "pass --k8s-namespace with one of one, two".to_owned()],
        ),
        (
            &host,
            format!("--listener-id {FIRST} --k8s-namespace three"),
            vec!["has no namespace `three`".to_owned()],
        ),
        (&host, format!("--listener-id {SECOND}"), vec!["has no namespaces".to_owned()]),
        (&none, format!("--listener-id {FIRST}"), vec!["the workspace has no listeners".to_owned()]),
        (&none, "--k8s-namespace one".to_owned(), vec!["the workspace has no listeners".to_owned()]),
    ] {
        for image in [format!("--image-uri {uri}"), "--push-to registry.example/app".to_owned()] {
            let said = refusal(host, &format!("--name x {image} {options}"));
            for text in &expected {
                assert!(said.contains(text), "{options}: {said}");
            }
        }
    }
    // Without a request, only the service knows that it needs a listener.
    let output = Stage::new(&host.url()).deploy(&format!("--name x --image-uri {uri}"));
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("agentcli deploy listeners list"), "{}", output.err);
}

#[test]
fn a_type_that_the_service_does_not_have_is_explained() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    let body = r#"{"detail": "Scale to zero deployments are not supported in AWS environments"}"#;
    proxy.fail(
        "POST",
        "/v2/deployments",
        Fault::Answer(400, &[("Content-Type", "application/json")], body),
        1,
    );
    let output = Stage::new(&proxy.url()).deploy("--name x --remote --deployment-type serverless");
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("pass --deployment-type dev"), "{}", output.err);
}

#[test]
fn all_listeners_are_listed() {
    let id = |index: usize| format!("aaaaaaaa-0000-4000-8000-{index:012}");
    let all =
        (0..120).map(|index| listener(&id(index), &format!("cluster-{index}"), &["one", "two"])).collect();
    let host = self_hosted(all);
    let stage = Stage::new(&host.url());
    let output = stage.deploy("listeners list");
    assert_eq!((output.code, output.out.lines().count()), (0, 121), "{output:?}");
    let row: Vec<&str> = output.out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, [&*id(0), "cluster-0", "one,", "two"]);
    let output = stage.deploy("listeners list --json");
    let listed: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(listed["listeners"].as_array().unwrap().len(), 120);
    assert_eq!(listed["listeners"][7], json!(listener(&id(7), "cluster-7", &["one", "two"])));
    let without = self_hosted(Vec::new());
    let none = Stage::new(&without.url()).deploy("listeners list");
    assert_eq!((none.code, &*none.out), (0, ""), "{none:?}");
    assert!(none.err.contains("no listeners found"), "{none:?}");
}
