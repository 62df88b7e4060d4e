//! Changes while it runs.

use std::fs;

use serde_json::json;

use super::Project;

#[test]
fn an_edit_is_taken_over_and_a_mistake_is_not() {
    let project = Project::new();
    let mut up = project.start(&["--watch"]);
    up.until_event("ready");
    assert_eq!(project.run(json!({ "name": "Ada" }))["version"], 1);

    project.edit("graph.py", "VERSION = 1", "VERSION = 2");
    let reloading = up.until_event("reloading");
    assert_eq!(reloading["changed"], json!(["graph.py"]));
    up.until_event("ready");
    let run = project.run(json!({ "name": "Ada" }));
    assert_eq!((&run["version"], &run["rows"]), (&json!(2), &json!(2)));
    let others = up.seen.iter().filter(|event| event["change"] == "recreated");
    assert!(others.clone().all(|event| event["service"] == "langgraph-api"), "{:#?}", up.seen);
    assert_eq!(others.count(), 1);

    // A build that fails, and a configuration that is wrong: the old server runs on.
    let config = fs::read_to_string(project.path("agent.json")).unwrap();
    project.edit("agent.json", "RUN sed", "RUN false; exit 1; sed");
    let kept = up.until_event("kept");
    assert!(kept["reason"].as_str().unwrap().contains("the build failed"), "{kept}");
    assert_eq!(project.run(json!({ "name": "Ada" }))["version"], 2);
    project.write("agent.json", "{");
    let kept = up.until_event("kept");
    assert!(kept["reason"].as_str().unwrap().contains("configuration"), "{kept}");
    assert_eq!(project.run(json!({ "name": "Ada" }))["version"], 2);

    // Mended, with another value.
    project.write(".env", "PLAIN=other\n");
    project.write("agent.json", &config);
    up.until_event("reloading");
    up.until_event("ready");
    assert_eq!(project.run(json!({ "name": "Ada" }))["value"], "other");

    up.signal("-INT");
    assert_eq!(up.code(), 0);
    assert_eq!(project.running(), Vec::<String>::new());
}
