//! Logs: pages, filters, and what goes on.

use std::time::Duration;

use serde_json::{Value, json};

use super::service::Host;
use super::{created, deployed, image, messages, wrong};

#[test]
fn pages_hold_each_entry_once_while_more_is_written() {
    let host = Host::start(|knobs| knobs.runner.heartbeat = Some(Duration::from_millis(2)));
    let id = created(&host, "app");
    let revision = deployed(&host, &id, &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let path = format!("/v1/projects/{id}/deploy_logs");
    let mut seen: Vec<Value> = Vec::new();
    let mut offset = Value::Null;
    while seen.len() < 60 {
        let page =
            host.expect(200, "POST", &path, Some(&json!({ "limit": 7, "order": "asc", "offset": offset })));
        seen.extend(page["logs"].as_array().unwrap().iter().cloned());
        if !page["next_offset"].is_null() {
            offset = page["next_offset"].clone();
        }
    }
    let beats: Vec<&str> = seen
        .iter()
        .filter_map(|entry| entry["message"].as_str())
        .filter(|message| message.starts_with("heartbeat"))
        .collect();
    let expected: Vec<String> = (1..=beats.len()).map(|beat| format!("heartbeat {beat}")).collect();
    assert!(beats.len() > 50 && beats == expected, "{seen:#?}");
    let newest = host.expect(200, "POST", &path, Some(&json!({ "limit": 2, "order": "desc" })));
    let older = json!({ "limit": 2, "order": "desc", "offset": newest["next_offset"] });
    let older = host.expect(200, "POST", &path, Some(&older));
    let number = |log: &Value, index: usize| -> usize {
        messages(log)[index].strip_prefix("heartbeat ").unwrap().parse().unwrap()
    };
    assert_eq!(number(&newest, 1), number(&older, 0) + 1);
    assert_eq!(number(&older, 0), number(&older, 1) + 1);
}

#[test]
fn every_filter_filters() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let revision = deployed(&host, &id, &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let path = revision.replace("/v2/deployments/", "/v1/projects/") + "/deploy_logs";
    let log = |body: Value| host.expect(200, "POST", &path, Some(&body));
    let all = log(json!({}));
    assert_eq!(messages(&all).len(), 3);
    assert!(all["logs"][0]["timestamp"].is_i64() && all["logs"][0]["id"].is_string(), "{all}");
    assert_eq!(messages(&log(json!({ "level": "WARNING" }))).len(), 1);
    assert_eq!(messages(&log(json!({ "query": "IS DEPLOYED" }))).len(), 1);
    assert_eq!(messages(&log(json!({ "query": "nothing of the sort" }))), [""; 0]);
    assert_eq!(messages(&log(json!({ "start_time": "2100-01-01T00:00:00Z" }))), [""; 0]);
    assert_eq!(messages(&log(json!({ "end_time": "2000-01-01T00:00:00+02:00" }))), [""; 0]);
    let between = json!({ "start_time": "2000-01-01T00:00:00", "end_time": "2100-01-01T00:00:00Z" });
    assert_eq!(log(between), all);
    for (body, field, kind) in [
        (json!({ "limit": 0 }), "limit", "greater_than_equal"),
        (json!({ "limit": 1001 }), "limit", "less_than_equal"),
        (json!({ "order": "up" }), "order", "literal_error"),
        (json!({ "level": "LOUD" }), "level", "literal_error"),
        (json!({ "start_time": "yesterday" }), "start_time", "datetime_parsing"),
        (json!({ "offset": "x" }), "offset", "value_error"),
    ] {
        assert_eq!(
            wrong(&host.expect(422, "POST", &path, Some(&body))),
            (vec!["body", field], kind),
            "{body}"
        );
        if let Some(text) = body[field].as_str() {
            let query = format!("{revision}/logs?{field}={text}");
            assert_eq!(wrong(&host.expect(422, "GET", &query, None)), (vec!["query", field], kind));
        }
    }
    let none = "0b8e5c1e-3b0f-4d27-9d6a-2f8a41a0c001";
    host.expect(404, "POST", &format!("/v1/projects/{none}/deploy_logs"), Some(&json!({})));
    host.expect(404, "POST", &format!("/v1/projects/{id}/revisions/{none}/build_logs"), Some(&json!({})));
}

#[test]
fn lines_are_kept_after_the_clock_was_set_back_and_long_ones_are_cut() {
    let long: &'static str = Box::leak("é".repeat(100_000).into_boxed_str());
    let lines: &'static [&'static str] = Box::leak(Box::new(["before", "after", long, "last"]));
    let host = Host::start(|knobs| {
        knobs.runner.lines = lines;
        knobs.runner.set_back = 3_600_000;
    });
    let id = created(&host, "app");
    let revision = deployed(&host, &id, &image('1'));
    let log = host.until(&format!("{revision}/logs?order=asc"), |log| messages(log).contains(&"last"));
    let output: Vec<&str> = messages(&log).into_iter().filter(|it| lines.contains(it)).collect();
    assert_eq!(output, ["before", "after", "last"]);
    let cut = messages(&log).into_iter().find(|it| it.starts_with('é')).unwrap();
    assert!(cut.len() <= 16 << 10 && cut.ends_with(" more bytes)"), "{} bytes", cut.len());
}
