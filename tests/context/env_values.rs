//! Values of `env` in configurations, which must be in no archive.

use std::fs;
use std::os::unix::fs::symlink;

use agentcli::context::Context;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::tree::{archive, context, unpacked};
use crate::harness::TestEnv;

#[test]
fn all_configurations_with_values_of_env_are_found() {
    let config =
        |env: &str| format!(r#"{{"dependencies": ["."], "graphs": {{"env": "./agent.py:graph"}}{env}}}"#);
    let values = config(r#", "env": {"TOKEN": "very secret"}"#);
    let env = TestEnv::project()
        .file("agent.json", config(r#", "env_variables": {"TOKEN": "very secret"}"#))
        .file("langgraph.json", &values)
        .file("a b/agent.json", &values)
        .file("sub/agent.json", config(""))
        .file("other.json", &values)
        .file("linked/langgraph.json", &values)
        .file("node_modules/x/agent.json", &values);
    symlink(env.path("linked/langgraph.json"), env.path("a b/langgraph.json")).unwrap();
    fs::create_dir(env.path("conf")).unwrap();
    fs::rename(env.path("agent.json"), env.path("conf/prod.json")).unwrap();
    symlink("conf/prod.json", env.path("agent.json")).unwrap();
    let output = env.run("plan --json");
    let plan: Value = serde_json::from_str(&output.out).expect(&output.err);
    assert_eq!(
        plan["context"]["withheld"],
        json!([
            "a b/agent.json",
            "a b/langgraph.json",
            "agent.json",
            "conf/prod.json",
            "langgraph.json",
            "linked/langgraph.json"
        ])
    );
}

#[test]
fn configurations_are_sent_without_the_values_of_env() {
    let dir = TempDir::new().unwrap();
    let text = r#"{"env": {"A": "secret"}, "graphs": {"env": {"path": "./a.py:g"}}}"#;
    fs::write(dir.path().join("real.json"), text).unwrap();
    fs::write(dir.path().join("other.json"), text).unwrap();
    symlink("real.json", dir.path().join("agent.json")).unwrap();
    let mut context = context(dir.path(), "agent.json");
    context.configurations = ["agent.json", "real.json"].map(str::to_owned).to_vec();
    let sent = |context: &Context| -> Vec<(String, String)> {
        let entries = unpacked(&archive(context)).into_iter();
        entries
            .map(|(path, (_, _, _, contents))| {
                (path.display().to_string(), String::from_utf8(contents).unwrap())
            })
            .collect()
    };
    let emptied = text.replace("secret", "");
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let both = [pair("other.json", text), pair("real.json", &emptied)];
    assert_eq!(sent(&context), both);
    context.ignore.include("agent.json");
    let [other, real] = both;
    assert_eq!(sent(&context), [pair("agent.json", &emptied), other, real]);
}
