//! Which addresses `dev` and its server contact.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Project, javascript};
use crate::contacts::{TRACE, contacts};
use crate::harness::program;

/// The contacts of a session in which the graph runs, in a project whose packages are installed.
fn session(project: &mut Project, input: serde_json::Value) -> Vec<String> {
    let log = project.path("trace");
    let script = format!("#!/bin/sh\nexec {} {} {} \"$@\"\n", TRACE.join(" "), log.display(), program());
    project.write("traced", script);
    fs::set_permissions(project.path("traced"), fs::Permissions::from_mode(0o755)).unwrap();
    project.program = project.path("traced");
    let dev = project.ready(&["--no-reload"]);
    dev.run(input);
    let id = dev.process.id();
    assert!(dev.stop("INT").success());
    contacts(&log, id).into_iter().filter(|it| !it.starts_with('/')).collect()
}

/// The server is told not to report itself, and a session with a key of the hosted service traces nothing unless asked to.
#[test]
fn the_server_contacts_only_this_machine() {
    let mut python = Project::of("hello").variable("LANGSMITH_API_KEY", "lsv2_pt_key");
    python.ready(&["--no-reload"]).stop("INT");
    let mut node = javascript::project().variable("LANGSMITH_API_KEY", "lsv2_pt_key");
    for project in [&mut python, &mut node] {
        let found = session(project, json!({ "name": "Ada" }));
        let is_here =
            |it: &&String| (it.starts_with("127.0.0.1:") || it.starts_with("[::1]:")) && !it.ends_with(":53");
        let elsewhere: Vec<&String> = found.iter().filter(|it| !is_here(it)).collect();
        assert!(elsewhere.is_empty() && !found.is_empty(), "{found:?}");
    }
}
