//! Every route of a server, asked as a foreign page asks.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{FOREIGN, Target};

const METHODS: &[&str] = &["get", "head", "post", "put", "patch", "delete", "options", "trace"];

/// The routes of an OpenAPI description: method and path.
pub(super) fn described(description: &Value) -> Vec<(String, String)> {
    let paths = description["paths"].as_object().unwrap().iter();
    let routes = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|key| METHODS.contains(&key.as_str()));
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    routes.collect()
}

/// The routes that the modules of a server register: the JavaScript server does not describe them.
pub(super) fn of_package(directory: &Path) -> Vec<(String, String)> {
    let mut routes = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            routes.extend(of_package(&path));
        } else if path.extension().is_some_and(|extension| extension == "mjs") {
            let text = fs::read_to_string(&path).unwrap();
            routes.extend(text.lines().filter_map(route));
        }
    }
    routes.sort();
    routes.dedup();
    routes
}

/// `api.post("/path/:id", …` registers a route.
fn route(line: &str) -> Option<(String, String)> {
    let call = line.trim_start().strip_prefix("api.").or_else(|| line.trim_start().strip_prefix("app."))?;
    let (method, rest) = call.split_once("(\"")?;
    let (path, _) = rest.split_once('"')?;
    let parts = path.trim_end_matches('?').split('/').map(|part| match part.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    });
    METHODS.contains(&method).then(|| (method.to_uppercase(), parts.collect::<Vec<_>>().join("/")))
}

/// Each route, as a page elsewhere, as one without an origin, and as one whose name leads here.
pub(super) fn refuse_foreign_pages(target: &Target, routes: &[(String, String)]) {
    let own = format!("127.0.0.1:{}", target.port);
    let foreign = format!("evil.example:{}", target.port);
    let origin = format!("http://{foreign}");
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[("Host", &own), ("Origin", FOREIGN)], 403),
        (&[("Host", &own), ("Origin", "null")], 403),
        (&[("Host", &foreign), ("Origin", &origin)], 421),
        (&[("Host", &foreign)], 421),
    ];
    let body = json!({
        "assistant_id": "agent", "graph_id": "agent", "input": {}, "name": "changed", "metadata": { "changed": true },
        "values": { "greeting": "changed" }, "namespace": ["a"], "key": "k", "value": { "v": 2 }, "schedule": "* * * * *",
    });
    let wanted: Vec<u16> = cases.iter().map(|(_, status)| *status).collect();
    let mut answered = Vec::new();
    for (method, path) in routes {
        let filled = path
            .replace("{thread_id}", &target.thread)
            .replace("{run_id}", &target.run)
            .replace("{assistant_id}", &target.assistant)
            .replace(['{', '}'], "");
        let status = |(headers, _): &(&[(&str, &str)], u16)| {
            let headers = [headers, &[("Content-Type", "text/plain")][..]].concat();
            super::ask(target.port, method, &filled, &headers, &body.to_string()).status
        };
        let statuses: Vec<u16> = cases.iter().map(status).collect();
        if statuses != wanted {
            answered.push(format!("{method} {path}: {statuses:?}"));
        }
    }
    assert_eq!(answered, [""; 0], "of {} routes", routes.len());
}
