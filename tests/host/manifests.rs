//! Kubernetes manifests of deployments, from the service.

use serde_json::{Value, json};

use super::service::{Answer, Host};
use super::stand_in::Fault;
use super::{created, creation, deployed, image};
use crate::output::compose_file::documents;

fn manifests(host: &Host, id: &str, query: &str) -> Answer {
    host.ask("GET", &format!("/v2/deployments/{id}/manifests{query}"), None)
}

fn server(text: &str) -> Value {
    let is_server = |it: &Value| it["kind"] == "Deployment" && it["metadata"]["name"] == "app";
    documents(text).into_iter().find(is_server).unwrap()
}

fn image_of(answer: &Answer) -> Value {
    server(&answer.text)["spec"]["template"]["spec"]["containers"][0]["image"].clone()
}

#[test]
fn manifests_are_those_of_the_active_revision() {
    let host = Host::start(|options| options.runner.faults.push((2, Fault::Deploy("it does not start"))));
    let id = created(&host, "app");
    let none = manifests(&host, &id, "");
    assert_eq!((none.status, &none.json["detail"]), (400, &json!("The deployment has no revision.")));
    let secrets = json!([
        { "name": "TOKEN", "value": "value-of-a-secret-98765" },
        { "name": "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", "value": "60" },
    ]);
    let patch = json!({
        "source_config": { "resource_spec": { "cpu": 2.0, "queue_min_scale": 3, "queue_max_scale": 3 } },
        "source_revision_config": { "image_uri": image('1') },
        "secrets": secrets,
    });
    let path = format!("/v2/deployments/{id}");
    let patched = host.expect(200, "PATCH", &path, Some(&patch));
    let revision = format!("{path}/revisions/{}", patched["latest_revision_id"].as_str().unwrap());
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let failed = deployed(&host, &id, &image('2'));
    host.until(&failed, |it| it["status"] == "DEPLOY_FAILED");
    let answer = manifests(&host, &id, "");
    assert_eq!((answer.status, answer.header("Content-Type")), (200, "application/yaml"), "{}", answer.text);
    assert_eq!(image_of(&answer), image('1'));
    let pod = &server(&answer.text)["spec"]["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 90);
    let objects = documents(&answer.text);
    let names: Vec<&Value> = objects.iter().map(|it| &it["metadata"]["name"]).collect();
    assert!(names.contains(&&json!("app-queue")), "{names:?}");
    assert!(objects.iter().all(|it| it["kind"] != "Secret"));
    assert!(answer.text.contains("# Requires a Secret app-env with the keys `TOKEN`"), "{}", answer.text);
    assert!(!answer.text.contains("value-of-a-secret"), "{}", answer.text);
    // The command writes the same objects for the same image.
    let other = manifests(&host, &id, "?image=registry.example/other:1");
    assert_eq!(image_of(&other), "registry.example/other:1");
    assert_eq!(manifests(&host, &id, "?image=No%20image").status, 422);
}

#[test]
fn names_that_kubernetes_refuses_are_replaced_on_request() {
    let host = Host::start(|_| {});
    let mut body = creation(&"a".repeat(50));
    body["source_revision_config"]["image_uri"] = image('1').into();
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    let id = made["id"].as_str().unwrap();
    let refused = manifests(&host, id, "");
    assert_eq!(refused.status, 400, "{}", refused.text);
    let detail = refused.json["detail"].as_str().unwrap();
    assert!(detail.contains("is not a name in Kubernetes"), "{detail}");
    assert_eq!(image_of(&manifests(&host, id, "?name=app")), image('1'));
}
