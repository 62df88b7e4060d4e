//! Projects in JavaScript workspaces.

use std::fs;

use serde_json::{Value, json};

use super::{Dev, Project};
use crate::image::workspaces::{MEMBER, rewrite_for};

const CONFIG: &[&str] = &["--config", "apps/agent/agent.json"];

fn greeting(dev: &Dev) -> Value {
    dev.run(json!({ "name": "Ada" }))["greeting"].clone()
}

fn is_provisioned(dev: &Dev) -> bool {
    dev.seen.iter().any(|event| event["event"] == "provisioning")
}

fn assert_runs(project: &Project) {
    let before = project.contents();
    let mut dev = project.ready(CONFIG);
    assert!(is_provisioned(&dev));
    assert_eq!(greeting(&dev), "Hello, Ada!");
    project.edit("packages/shared/src/index.ts", "Hello", "Bonjour");
    let changed = dev.until("reloading")["changed"][0].as_str().unwrap().to_owned();
    assert!(changed.ends_with("packages/shared/src/index.ts"), "{changed}");
    dev.until("ready");
    assert_eq!(greeting(&dev), "Bonjour, Ada!");
    assert!(dev.stop("INT").success());
    project.edit("packages/shared/src/index.ts", "Bonjour", "Hello");

    let dev = project.ready(&[CONFIG, &["--no-reload"]].concat());
    assert!(!is_provisioned(&dev), "{:#?}", dev.seen);
    dev.stop("INT");
    for directory in ["", MEMBER, "apps/web", "packages/shared"] {
        fs::remove_dir_all(project.path(directory).join("node_modules")).ok();
    }
    assert_eq!(project.contents(), before, "files of the user were changed");
}

#[test]
fn a_pnpm_workspace_is_installed_at_its_root() {
    // Without pnpm on the PATH, it is downloaded.
    assert_runs(&Project::of("workspace-pnpm"));
}

#[test]
fn an_npm_workspace_is_installed_at_its_root() {
    let project = Project::of("workspace-pnpm");
    rewrite_for("npm", project.directory.path());
    assert_runs(&project);
}
