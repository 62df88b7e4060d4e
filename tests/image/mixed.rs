//! Projects with JavaScript in the image of the Python server: graphs of both languages, and UI components.

use serde_json::json;

use super::{Container, curl, with_image};

/// The script of a graph's components, as the server hands it to a page that has asked which it needs.
fn ui_script(container: &Container, graph: &str, component: &str) -> String {
    let address = container.address();
    let body = json!({ "name": component }).to_string();
    let json = "content-type: application/json";
    let page = curl(&["-H", json, "-d", &body, &format!("{address}/ui/{graph}")]).unwrap();
    let script = format!("/ui/{graph}/entrypoint.js");
    assert!(page.contains(&script), "{page}");
    curl(&[&format!("{address}{script}")]).unwrap()
}

#[test]
fn graphs_of_both_languages_run_side_by_side() {
    with_image("mixed", |container| {
        assert_eq!(container.run("python"), json!({ "said": "python" }));
        assert_eq!(container.run("typescript"), json!({ "name": "Ada", "greeting": "Hello, Ada!" }));
        assert!(ui_script(container, "agent", "word").contains("word"));
    });
}

#[test]
fn ui_components_of_a_python_project_are_served_with_their_packages() {
    with_image("ui", |container| {
        assert_eq!(container.run("agent"), json!({ "said": "with a face" }));
        let script = ui_script(container, "agent", "word");
        assert!(script.contains("a-class") && !script.contains("\"clsx\""), "clsx is bundled: {script}");
    });
}
