//! `PATCH /v2/deployments/{deployment_id}` and what creations may hold.

use agentcli::api::Vocabulary;
use serde_json::{Value, json};

use super::service::Host;
use super::stand_in::StandIn;
use super::{created, creation, deployed, image, wrong};

const UUID: &str = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001";

#[test]
fn what_is_read_only_or_immutable_cannot_be_set() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let before = host.until(&path, |it| it["status"] == "READY");
    for field in [
        "id",
        "tenant_id",
        "created_at",
        "updated_at",
        "status",
        "latest_revision_id",
        "active_revision_id",
        "image_version",
        "name",
        "source",
    ] {
        let answer = host.expect(422, "PATCH", &path, Some(&json!({ field: "x" })));
        assert_eq!(wrong(&answer), (vec!["body", field], "extra_forbidden"));
    }
    let commit = json!({ "source_revision_config": { "repo_commit_sha": "abc", "image_uri": image('1') } });
    let answer = host.expect(422, "PATCH", &path, Some(&commit));
    let loc = vec!["body", "source_revision_config", "repo_commit_sha"];
    assert_eq!(wrong(&answer), (loc, "extra_forbidden"));
    let kind = json!({ "source_config": { "deployment_type": "prod" } });
    let answer = host.expect(400, "PATCH", &path, Some(&kind));
    assert_eq!(answer["detail"], "source_config.deployment_type cannot be changed after creation.");
    assert_eq!(host.expect(200, "GET", &path, None), before);
    // The same again is no change.
    host.expect(200, "PATCH", &path, Some(&json!({ "source_config": { "deployment_type": "dev" } })));
}

#[test]
fn what_is_given_replaces_and_what_is_absent_stays() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let first = json!({
        "source_config": {
            "install_command": "npm ci",
            "resource_spec": { "min_scale": 1, "max_scale": 3, "labels": { "a": "1", "b": "2" } },
        },
        "secrets": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
        "unheard_of": true,
    });
    host.expect(200, "PATCH", &path, Some(&first));
    let second = json!({
        "source_config": {
            "build_command": null,
            "resource_spec": { "max_scale": 5, "cpu": 0.5, "labels": { "c": "3" } },
        },
        "secrets": [{ "name": "B", "value": "3" }],
        "secret_references": null,
    });
    let patched = host.expect(200, "PATCH", &path, Some(&second));
    let config = json!({
        "deployment_type": "dev",
        "resource_spec": { "min_scale": 1, "max_scale": 5, "cpu": 0.5, "labels": { "c": "3" } },
        "install_command": "npm ci",
    });
    let mut given = patched["source_config"].clone();
    let url = given.as_object_mut().unwrap().remove("custom_url").unwrap();
    assert!(url.as_str().unwrap().starts_with("http://app.localhost:"), "{url}");
    assert_eq!(given, config);
    assert_eq!(patched["secrets"], json!([{ "name": "B" }]));
    assert_eq!(patched["latest_revision_id"], Value::Null, "nothing is there to be deployed");
    // Otherwise its status may change between the two answers.
    host.until(&path, |it| it["status"] == "READY");
    assert_eq!(host.expect(200, "PATCH", &path, Some(&json!({}))), host.expect(200, "GET", &path, None));
}

#[test]
fn secrets_make_a_revision_of_what_is_deployed_and_resources_do_not() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let path = format!("/v2/deployments/{id}");
    let revision = deployed(&host, &id, &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let before = host.expect(200, "GET", &path, None);
    let spec = json!({ "source_config": { "resource_spec": { "cpu": 1 } } });
    let after = host.expect(200, "PATCH", &path, Some(&spec));
    assert_eq!(after["latest_revision_id"], before["latest_revision_id"]);
    let secrets = json!({ "secrets": [{ "name": "A", "value": "1" }] });
    let after = host.expect(200, "PATCH", &path, Some(&secrets));
    assert_ne!(after["latest_revision_id"], before["latest_revision_id"]);
    assert_eq!(after["source_revision_config"], json!({ "image_uri": image('1') }));
}

#[test]
fn a_secret_without_a_value_keeps_the_one_that_it_has() {
    let mut engine = StandIn::default();
    let host = Host::start(|knobs| engine = knobs.runner.clone());
    let id = created(&host, "app");
    let path = format!("/v2/deployments/{id}");
    let first = json!([{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }]);
    host.expect(200, "PATCH", &path, Some(&json!({ "secrets": first })));
    host.until(&deployed(&host, &id, &image('1')), |it| it["status"] == "DEPLOYED");
    let second = json!([{ "name": "B" }, { "name": "C", "value": "3" }]);
    let patched = host.expect(200, "PATCH", &path, Some(&json!({ "secrets": second })));
    assert_eq!(patched["merges_secrets"], true);
    assert_eq!(patched["secrets"], json!([{ "name": "B" }, { "name": "C" }]));
    let revision = format!("{path}/revisions/{}", patched["latest_revision_id"].as_str().unwrap());
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(engine.environment("1-0"), [pair("A", "1"), pair("B", "2")]);
    assert_eq!(engine.environment("2-0"), [pair("B", "2"), pair("C", "3")]);
    let unknown = json!({ "secrets": [{ "name": "A" }] });
    let answer = host.expect(422, "PATCH", &path, Some(&unknown));
    let detail = &answer["detail"][0];
    assert_eq!(
        (&detail["loc"], &detail["type"]),
        (&json!(["body", "secrets", 0, "value"]), &json!("missing"))
    );
}

#[test]
fn sources_have_rules() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let reference = json!([{ "name": "A", "secret_name": "b", "secret_key": "c" }]);
    for (patch, expected) in [
        (json!({ "secret_references": reference }), "only applicable to source 'external_container'"),
        (json!({ "source_config": { "custom_url": "https://a" } }), "custom_url is only applicable"),
        (json!({ "source_config": { "listener_id": UUID } }), "listener_id is only applicable"),
        (json!({ "source_config": { "repo_url": "https://a" } }), "only applicable to source 'codehost'"),
        (json!({ "source_revision_config": { "repo_ref": "main" } }), "repo_ref is not applicable"),
        (json!({ "source_revision_config": { "image_uri": "" } }), "image_uri is required"),
        (json!({ "source_revision_config": { "image_uri": "a b" } }), "must be REPOSITORY"),
        (json!({ "source_revision_config": { "image_uri": "a@sha256:12" } }), "must be REPOSITORY"),
        (
            json!({ "source_revision_config": { "image_uri": "127.0.0.1:5/agents/../../../admin:x" } }),
            "must be REPOSITORY",
        ),
        (json!({ "source_revision_config": { "image_uri": "a/b:.." } }), "must be REPOSITORY"),
        (json!({ "source_revision_config": { "image_uri": "a/./b" } }), "must be REPOSITORY"),
        (json!({ "source_revision_config": { "image_uri": "/a" } }), "must be REPOSITORY"),
        (json!({ "source_revision_config": { "image_uri": "a/../b]:c/d" } }), "must be REPOSITORY"),
        (json!({ "revision_source": "internal_source" }), "is required for source 'internal_source'"),
        (
            json!({ "revision_source": "internal_source",
                    "source_revision_config": { "source_tarball_path": "../x", "graph_config_path": "agent.json" } }),
            "not an object_path of this deployment",
        ),
        (json!({ "source_config": { "resource_spec": { "min_scale": 3, "max_scale": 1 } } }), "min_scale, 3"),
        (
            json!({ "source_config": { "resource_spec": { "cpu": -2 } } }),
            "resource_spec.cpu, -2, must not be less than 0",
        ),
        (json!({ "source_config": { "resource_spec": { "db_cpu_limit": -0.5 } } }), "db_cpu_limit, -0.5"),
        (json!({ "secrets": [{ "name": "A", "value": "" }, { "name": "A", "value": "" }] }), "given twice"),
    ] {
        let answer = host.expect(400, "PATCH", &path, Some(&patch));
        assert!(answer["detail"].as_str().unwrap().contains(expected), "{patch}: {answer}");
    }
    for (patch, loc, kind) in [
        (
            json!({ "revision_source": "external_container" }),
            vec!["body", "revision_source"],
            "literal_error",
        ),
        (json!({ "revision_source": "github" }), vec!["body", "revision_source"], "literal_error"),
        (
            json!({ "source_revision_config": { "graph_config_path": 5 } }),
            vec!["body", "source_revision_config", "graph_config_path"],
            "value_error",
        ),
        (json!({ "secrets": [{ "value": "hidden" }] }), vec!["body", "secrets", "0", "name"], "missing"),
        (json!({ "secrets": [{ "name": "A" }] }), vec!["body", "secrets", "0", "value"], "missing"),
        (json!({ "secrets": "hidden" }), vec!["body", "secrets"], "value_error"),
        (
            json!({ "source_config": { "build_on_push": "hidden" } }),
            vec!["body", "source_config", "build_on_push"],
            "value_error",
        ),
    ] {
        let answer = host.expect(422, "PATCH", &path, Some(&patch));
        let found: Vec<String> = answer["detail"][0]["loc"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part.to_string().replace('"', ""))
            .collect();
        assert_eq!(
            (found, answer["detail"][0]["type"].as_str().unwrap()),
            (loc.iter().map(|&part| part.to_owned()).collect(), kind),
            "{patch}"
        );
        assert!(!answer.to_string().contains("hidden"), "{answer}");
    }
}

#[test]
fn images_lie_in_any_registry() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let digest = image('1').split_once('@').unwrap().1.to_owned();
    for image in ["app".to_owned(), "a.b/c_d/e-f:1.0".to_owned(), format!("[::1]:5000/a/b:1@{digest}")] {
        let patch = json!({ "source_revision_config": { "image_uri": image } });
        assert_eq!(
            host.expect(200, "PATCH", &path, Some(&patch))["source_revision_config"]["image_uri"],
            image
        );
    }
    // Other amounts than those of cores cannot be read where they are below zero.
    let patch = json!({ "source_config": { "resource_spec": { "memory_mb": -1 } } });
    host.expect(422, "PATCH", &path, Some(&patch));
}

#[test]
fn where_sources_are_available() {
    let cloud = Host::start(|_| {});
    let own = Host::start(|options| options.is_self_hosted = true);
    let mut external = creation("app");
    external["source"] = json!("external_container");
    external["source_revision_config"] = json!({ "image_uri": image('1') });
    external["secret_references"] = json!([{ "name": "A", "secret_name": "b", "secret_key": "c" }]);
    let answer = cloud.expect(400, "POST", "/v2/deployments", Some(&external));
    let detail = "Source 'external_container' is only available for self-hosted deployments.";
    assert_eq!(answer["detail"], detail);
    let made = own.expect(201, "POST", "/v2/deployments", Some(&external));
    assert_eq!(made["secret_references"], external["secret_references"]);
    assert!(made["latest_revision_id"].is_string(), "{made}");
    let path = format!("/v2/deployments/{}", made["id"].as_str().unwrap());
    for url in ["javascript://app.example.com/%0a1", "app.example.com", "http://app.localhost", "https://"] {
        let patch = json!({ "source_config": { "custom_url": url } });
        let answer = own.expect(400, "PATCH", &path, Some(&patch));
        assert!(answer["detail"].as_str().unwrap().contains("custom_url must be an http"), "{url}: {answer}");
    }
    let patch = json!({ "source_config": { "custom_url": "https://app.example.com" } });
    own.expect(200, "PATCH", &path, Some(&patch));
    let answer = own.expect(400, "PATCH", &path, Some(&json!({ "revision_source": "internal_source" })));
    assert!(answer["detail"].as_str().unwrap().contains("cannot have a revision from"), "{answer}");
    let answer = own.expect(400, "POST", "/v2/deployments", Some(&creation("app")));
    let detail = "Source 'internal_container' is only available for cloud-hosted deployments.";
    assert_eq!(answer["detail"], detail);
}

#[test]
fn creations_have_rules() {
    let host = Host::start(|_| {});
    for name in ["", "Upper", "-a", "a-", "a_b", "a/b", &"a".repeat(64)] {
        let answer = host.expect(400, "POST", "/v2/deployments", Some(&creation(name)));
        assert!(answer["detail"].as_str().unwrap().starts_with("A name has"), "{answer}");
    }
    for field in ["name", "source", "source_config", "source_revision_config", "secrets"] {
        let mut body = creation("app");
        body.as_object_mut().unwrap().remove(field);
        let answer = host.expect(422, "POST", "/v2/deployments", Some(&body));
        assert_eq!(wrong(&answer), (vec!["body", field], "missing"));
    }
    let mut body = creation("app");
    body["status"] = json!("READY");
    let answer = host.expect(422, "POST", "/v2/deployments", Some(&body));
    assert_eq!(wrong(&answer), (vec!["body", "status"], "extra_forbidden"));
    let mut body = creation("app");
    body["source"] = json!("codehost");
    let answer = host.expect(400, "POST", "/v2/deployments", Some(&body));
    assert!(answer["detail"].as_str().unwrap().contains("integration_id"), "{answer}");
    body["source_config"] =
        json!({ "integration_id": UUID, "repo_url": "https://a/b", "build_on_push": true });
    body["source_revision_config"] = json!({ "repo_ref": "refs/tags/1", "graph_config_path": "agent.json" });
    let answer = host.expect(400, "POST", "/v2/deployments", Some(&body));
    assert!(answer["detail"].as_str().unwrap().contains("build_on_push must be false"), "{answer}");
    body["source_revision_config"]["repo_ref"] = json!("main");
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    let id = made["id"].as_str().unwrap();
    let revision = made["latest_revision_id"].as_str().unwrap();
    host.until(&format!("/v2/deployments/{id}/revisions/{revision}"), |it| it["status"] == "DEPLOYED");
}

#[test]
fn the_public_words_are_spoken_where_that_is_asked() {
    let host = Host::start(|options| options.vocabulary = Vocabulary::Public);
    let mut body = creation("app");
    body["source"] = json!("internal_docker");
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    assert_eq!(made["source"], "internal_docker");
    let path = format!("/v2/deployments/{}", made["id"].as_str().unwrap());
    let patch = json!({ "source_revision_config": { "image_uri": image('1') }, "revision_source": "internal_docker" });
    host.expect(200, "PATCH", &path, Some(&patch));
    let list = host.expect(200, "GET", "/v2/deployments", None);
    assert_eq!(list["resources"][0]["source"], "internal_docker");
    let revisions = host.expect(200, "GET", &format!("{path}/revisions"), None);
    assert_eq!(revisions["resources"][0]["source"], "internal_docker");
    let incomplete = json!({ "revision_source": "internal_source", "source_revision_config": { "source_tarball_path": "a" } });
    let answer = host.expect(400, "PATCH", &path, Some(&incomplete));
    assert!(answer["detail"].as_str().unwrap().contains("langgraph_config_path is required"), "{answer}");
    let ours = host.expect(422, "POST", "/v2/deployments", Some(&creation("other")));
    assert_eq!(wrong(&ours), (vec!["body", "source"], "literal_error"));
    assert!(ours["detail"][0]["msg"].as_str().unwrap().contains("github"), "{ours}");
}
