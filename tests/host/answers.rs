//! What holds for every route: keys, bodies, what there is not.

use agentcli_host::{ROUTES, Store};
use serde_json::{Value, json};

use super::created;
use super::service::{Host, KEY};

const UUID: &str = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001";

fn filled(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { UUID } else { part }).collect::<Vec<_>>().join("/")
}

#[test]
fn every_route_needs_a_key() {
    let host = Host::start(|options| {
        let store = Store::attach(&options.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", "other")).unwrap();
    });
    let ask =
        |method: &str, path: &str, headers: &[(&str, &str)]| host.send(method, path, headers, None).unwrap();
    for route in
        ROUTES.iter().map(|route| (route.method, filled(route.path))).chain([("GET", "/unknown".to_owned())])
    {
        let wrong = format!("{KEY}0");
        let bearer = format!("Bearer {wrong}");
        for headers in [
            &[][..],
            &[("X-Api-Key", "")],
            &[("X-Api-Key", &*wrong)],
            &[("X-Api-Key", &KEY[1..])],
            &[("X-Auth-Key", &*wrong)],
            &[("Authorization", &*bearer)],
            &[("Authorization", KEY)],
        ] {
            let answer = ask(route.0, &route.1, headers);
            assert_eq!(answer.status, 401, "{route:?} {headers:?}");
            assert_eq!(answer.json, json!({ "detail": "Invalid API key." }));
        }
    }
    let bearer = format!("bearer {KEY}");
    for headers in [("X-Api-Key", KEY), ("X-Auth-Key", "other"), ("Authorization", &*bearer)] {
        assert_eq!(ask("GET", "/v2/deployments", &[headers]).status, 200, "{headers:?}");
    }
}

#[test]
fn what_there_is_not() {
    let host = Host::start(|_| {});
    for path in
        ["/unknown", "/v2", "/v2/deployments/", "/v3/deployments", "/v1/integrations/forge/github/x/repos"]
    {
        let answer = host.ask("GET", path, None);
        assert!(
            matches!(answer.status, 404 | 422) && answer.json["detail"] != Value::Null,
            "{path}: {answer:?}"
        );
    }
    assert_eq!(host.expect(405, "PUT", "/v2/deployments", None)["detail"], "Method Not Allowed");
    let answer = host.expect(422, "GET", "/v2/deployments/1", None);
    assert_eq!(super::wrong(&answer), (vec!["path", "deployment_id"], "uuid_parsing"));
    for route in ROUTES.iter().filter(|route| route.path.contains('{')) {
        let answer = host.ask(route.method, &filled(route.path), Some(&json!({})));
        assert_eq!(answer.status, 404, "{route:?}: {}", answer.text);
    }
}

#[test]
fn bodies_are_json_and_bounded() {
    let host = Host::start(|_| {});
    let path = format!("/v2/deployments/{}", created(&host, "app"));
    let patch = |kind: &str, body: &str| {
        host.send("PATCH", &path, &[("X-Api-Key", KEY)], Some((kind, body.as_bytes().to_vec()))).unwrap()
    };
    assert_eq!(patch("application/json; charset=utf-8", "{}").status, 200);
    assert_eq!(patch("text/plain", "{}").status, 415);
    let broken = patch("application/json", "{\n  \"secrets\": [}");
    assert_eq!((broken.status, super::wrong(&broken.json)), (422, (vec!["body"], "json_invalid")));
    assert!(broken.text.contains("line 2, column 15"), "{}", broken.text);
    for body in ["[]", "1", "null", "\"x\""] {
        assert_eq!(patch("application/json", body).status, 422, "{body}");
    }
    assert_eq!(patch("application/json", &"[".repeat(10_000)).status, 422);
    // Each value takes many times its text in memory.
    assert_eq!(patch("application/json", &"[".repeat(100_000)).status, 413);
    let large = format!("{{\"secrets\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(patch("application/json", &large).status, 413);
}

#[test]
fn repositories_of_an_integration() {
    let repository = json!({
        "host_integration_id": UUID,
        "id": 7,
        "name": "app",
        "owner": "ada",
        "url": "https://code.example/ada/app",
        "default_branch": "main",
    });
    let given = serde_json::from_value(repository.clone()).unwrap();
    let host =
        Host::start(|options| options.repositories = agentcli_host::Repositories::new(vec![given]).unwrap());
    let path = |word: &str, id: &str| format!("/v1/integrations/forge/{word}/{id}/repos");
    assert_eq!(host.expect(200, "GET", &path("codehost", UUID), None), json!([repository]));
    host.expect(404, "GET", &path("github", UUID), None);
    host.expect(404, "GET", &path("codehost", &UUID.replace('1', "2")), None);
    host.expect(422, "GET", &path("codehost", "x"), None);
    let given = serde_json::from_value(repository.clone()).unwrap();
    let host = Host::start(|options| {
        options.repositories = agentcli_host::Repositories::new(vec![given]).unwrap();
        options.vocabulary = agentcli::api::Vocabulary::Public;
    });
    assert_eq!(host.expect(200, "GET", &path("github", UUID), None), json!([repository]));
}

/// Files that cannot be written are told without their paths.
#[cfg(unix)]
#[test]
fn no_answer_has_a_path_of_the_host() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let place = host.expect(200, "POST", &format!("/v2/deployments/{id}/upload-url"), Some(&json!({})));
    let token = host.expect(200, "POST", &format!("/v2/deployments/{id}/push-token"), Some(&json!({})));
    let authorization = format!("Bearer {}", token["token"].as_str().unwrap());
    std::fs::remove_dir_all(host.data().join("uploads")).unwrap();
    // A directory in which no file can be created.
    std::os::unix::fs::symlink("/proc", host.data().join("registry").join(&id)).unwrap();
    let bytes = |kind| Some((kind, b"bytes".to_vec()));
    let answers = [
        host.send("PUT", place["upload_url"].as_str().unwrap(), &[], bytes("application/gzip")),
        host.send(
            "POST",
            "/v2/images/app/blobs/uploads/",
            &[("Authorization", &authorization)],
            bytes("application/octet-stream"),
        ),
    ];
    for answer in answers {
        let answer = answer.unwrap();
        assert_eq!(answer.status, 507, "{}", answer.text);
        let data = host.data().to_str().unwrap();
        assert!(!answer.text.contains(data) && !answer.text.contains("/proc"), "{}", answer.text);
        assert!(answer.text.contains("no such file or directory"), "{}", answer.text);
    }
}
