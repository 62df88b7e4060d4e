//! `GET /v2/deployments`: pages and filters.

use serde_json::{Value, json};

use super::service::Host;
use super::{created, creation, wrong};

fn names(list: &Value) -> Vec<&str> {
    list["resources"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn pages_hold_each_deployment_once_the_newest_first() {
    let host = Host::start(|_| {});
    let wanted: Vec<String> = (0..25).map(|number| format!("app-{number:02}")).collect();
    wanted.iter().for_each(|name| drop(created(&host, name)));
    let first = host.expect(200, "GET", "/v2/deployments", None);
    assert_eq!((names(&first).len(), &first["offset"]), (20, &json!(20)));
    let second = host.expect(200, "GET", "/v2/deployments?offset=20", None);
    assert_eq!((names(&second).len(), &second["offset"]), (5, &json!(25)));
    let all: Vec<&str> = names(&first).into_iter().chain(names(&second)).collect();
    assert!(all.iter().rev().eq(wanted.iter()), "{all:?}");
    let behind = host.expect(200, "GET", "/v2/deployments?offset=25&limit=100", None);
    assert_eq!(behind, json!({ "resources": [], "offset": 25 }));
    assert_eq!(names(&host.expect(200, "GET", "/v2/deployments?limit=1", None)), ["app-24"]);
}

#[test]
fn limits_are_kept() {
    let host = Host::start(|_| {});
    for (query, field, kind) in [
        ("limit=0", "limit", "greater_than_equal"),
        ("limit=-1", "limit", "greater_than_equal"),
        ("limit=101", "limit", "less_than_equal"),
        ("limit=many", "limit", "int_parsing"),
        ("limit=", "limit", "int_parsing"),
        ("limit=99999999999999999999", "limit", "int_parsing"),
        ("offset=-1", "offset", "greater_than_equal"),
        ("offset=1.5", "offset", "int_parsing"),
        ("deployment_type=large", "deployment_type", "literal_error"),
        ("remote_reconciled=perhaps", "remote_reconciled", "bool_parsing"),
        ("deployment_ids=1,2", "deployment_ids", "uuid_parsing"),
        ("tag_value_ids=x", "tag_value_ids", "uuid_parsing"),
    ] {
        let answer = host.expect(422, "GET", &format!("/v2/deployments?{query}"), None);
        assert_eq!(wrong(&answer), (vec!["query", field], kind), "{query}");
    }
    let both = host.expect(422, "GET", "/v2/deployments?limit=0&offset=-1", None);
    assert_eq!(both["detail"].as_array().unwrap().len(), 2, "{both}");
    for query in ["limit=1", "limit=100", "offset=0", "offset=9223372036854775807", "name_contains="] {
        host.expect(200, "GET", &format!("/v2/deployments?{query}"), None);
    }
}

#[test]
fn every_filter_filters() {
    let host = Host::start(|_| {});
    let tag = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001";
    let mut tagged = creation("blue-app");
    tagged["tag_value_ids"] = json!([tag]);
    tagged["source_config"]["deployment_type"] = json!("prod");
    let blue = host.expect(201, "POST", "/v2/deployments", Some(&tagged))["id"].as_str().unwrap().to_owned();
    let green = created(&host, "green-app");
    for id in [&blue, &green] {
        host.until(&format!("/v2/deployments/{id}"), |it| it["status"] == "READY");
    }
    let other = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c002";
    for (query, expected) in [
        ("name_contains=blue".to_owned(), vec!["blue-app"]),
        ("name_contains=app".to_owned(), vec!["green-app", "blue-app"]),
        ("name_contains=red".to_owned(), vec![]),
        ("name=green-app".to_owned(), vec!["green-app"]),
        ("name=green".to_owned(), vec![]),
        ("status=READY".to_owned(), vec!["green-app", "blue-app"]),
        ("status=UNUSED".to_owned(), vec![]),
        ("remote_reconciled=true".to_owned(), vec![]),
        ("remote_reconciled=false".to_owned(), vec!["green-app", "blue-app"]),
        (format!("tag_value_ids={other},{tag}"), vec!["blue-app"]),
        (format!("tag_value_ids={other}"), vec![]),
        ("image_version=1.0".to_owned(), vec![]),
        ("deployment_type=prod".to_owned(), vec!["blue-app"]),
        ("deployment_type=dev".to_owned(), vec!["green-app"]),
        (format!("deployment_ids={green},{blue}"), vec!["green-app", "blue-app"]),
        (format!("deployment_ids={green}"), vec!["green-app"]),
        (format!("deployment_ids={green}&name_contains=blue"), vec![]),
    ] {
        let list = host.expect(200, "GET", &format!("/v2/deployments?{query}"), None);
        assert_eq!(names(&list), expected, "{query}");
    }
}
