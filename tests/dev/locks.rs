//! The versions of lock files in the environment of `dev`.

use serde_json::json;

use super::{Dev, Project};

const LOCKED: &str = "the versions of `uv.lock` are installed; --no-lock installs the newest ones";

/// The fixture has a lock with an old `tabulate`, and a `cloudpickle` that the server does not work with.
fn project(config: &str) -> Project {
    let project = Project::of("uv-lock");
    project.edit("agent.json", "\"dependencies\"", &format!("{config}\"dependencies\""));
    project
}

/// The installed version of `tabulate`.
fn tabulate(dev: &Dev) -> String {
    dev.run(json!({}))["said"].as_str().unwrap().replace("tabulate ", "")
}

#[test]
fn dev_installs_the_versions_of_the_lock_and_without_it_the_newest() {
    let project = project("");
    let dev = project.ready_from_nothing(&[]);
    assert_eq!(tabulate(&dev), "0.8.10");
    assert!(dev.seen.iter().any(|event| event["message"] == LOCKED), "{:?}", dev.seen);
    assert!(dev.stop("INT").success());
    let dev = project.ready_from_nothing(&["--no-lock"]);
    assert_ne!(tabulate(&dev), "0.8.10");
    assert!(!dev.seen.iter().any(|event| event["message"] == LOCKED), "{:?}", dev.seen);
    assert!(dev.stop("INT").success());
}

#[test]
fn pip_installs_the_versions_of_the_lock() {
    let project = project("\"pip_installer\": \"pip\", ");
    let dev = project.ready_from_nothing(&[]);
    assert_eq!(tabulate(&dev), "0.8.10");
    assert!(dev.stop("INT").success());
}

/// A server that works with these versions exists, and the image does not have it either.
#[test]
fn the_newest_server_replaces_locked_versions() {
    let project = project("");
    let packages = [("langgraph", "1.0.10"), ("langgraph-checkpoint", "4.0.0"), ("langchain-core", "1.3.0")];
    let source = "source = { registry = \"https://pypi.org/simple\" }";
    let mut lock = project.read("uv.lock");
    for (name, version) in packages {
        project.edit("pyproject.toml", "\"cloudpickle>=2\"", &format!("\"cloudpickle>=2\", \"{name}\""));
        lock = lock
            .replace("{ name = \"tabulate\"", &format!("{{ name = \"{name}\" }}, {{ name = \"tabulate\""));
        lock += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}\n");
    }
    project.write("uv.lock", lock);
    let dev = project.ready_from_nothing(&[]);
    assert_eq!(tabulate(&dev), "0.8.10");
    assert!(dev.seen.iter().any(|event| event["message"] == LOCKED), "{:?}", dev.seen);
    assert!(!dev.seen.iter().any(|event| event["event"] == "warning"), "{:?}", dev.seen);
    let python = std::fs::read_dir(project.path(".agentcli/python/lib")).unwrap().next().unwrap().unwrap();
    assert!(python.path().join("site-packages/langgraph_api-0.16.7.dist-info").is_dir());
    assert!(dev.stop("INT").success());
}

#[test]
fn a_lock_that_cannot_be_installed_is_named_with_the_way_out() {
    let project = project("");
    project.edit("uv.lock", "version = \"0.8.10\"", "version = \"0.8.999\"");
    let (code, _, err) = project.fails(&["--yes", "--no-browser"]);
    assert_eq!(code, 1);
    assert!(
        err.contains("hint: update the lock file, or install the newest versions with --no-lock"),
        "{err}"
    );
}

/// pip takes hashes of all packages of a command, or of none, and the server has none.
#[test]
fn requirements_with_hashes_are_installed() {
    let requirements =
        "tabulate==0.8.10 --hash=sha256:0ba055423dbaa164b9e456abe7920c5e8ed33fcc16f6d1b2f2d152c8e1e8b4fc\n";
    for installer in ["pip", "uv"] {
        let project = project(&format!("\"pip_installer\": \"{installer}\", "));
        std::fs::remove_file(project.path("pyproject.toml")).unwrap();
        project.write("requirements.txt", requirements);
        let dev = project.ready(&[]);
        assert_eq!(tabulate(&dev), "0.8.10", "{installer}");
        assert!(dev.stop("INT").success());
    }
}
