//! SOURCE_DATE_EPOCH: one tree, one digest.

use std::process::Command;

use super::Copy;
use crate::engine::{docker, hosts};
use crate::harness::TestEnv;

const NAME: &str = "agentcli-test-digest";

/// Builds the same project in another directory, with other times and `permissions` of its files; returns the ID, the time of
/// the image, and what was said.
fn build(host: &str, permissions: &str, options: &str) -> (String, String, String) {
    let project = Copy::of("hello");
    let chmod = Command::new("chmod").args(["-R", permissions]).arg(project.directory.path()).status();
    assert!(chmod.unwrap().success());
    let env = TestEnv::inside(project.directory.path());
    let env = env.variable("DOCKER_HOST", host).variable("SOURCE_DATE_EPOCH", "1700000000");
    let built = env.run(&format!("build --no-pull -t {NAME} {options}"));
    assert_eq!(built.code, 0, "{}", built.err);
    let format = "{{.Id}} {{.Created}}";
    let shown = docker(host, &["image", "inspect", "-f", format, NAME]);
    docker(host, &["rmi", "-f", NAME]);
    let (id, created) = shown.trim().split_once(' ').unwrap();
    (id.to_owned(), created.to_owned(), built.err)
}

/// Docker's own image store keeps the times of files, which a warning says.
#[test]
fn one_tree_has_one_digest_where_the_engine_sets_the_times_of_files() {
    for host in hosts() {
        let sets_times = docker(&host, &["info", "-f", "{{.DriverStatus}}"]).contains("containerd");
        let options = if sets_times { "--no-cache" } else { "" };
        let (id, created, said) = build(&host, "u=rwX,go=rX", options);
        let warns = said.contains("warning: SOURCE_DATE_EPOCH does not set the times of files");
        assert_eq!(warns, !sets_times, "{host}: {said}");
        if sets_times {
            assert_eq!(created, "2023-11-14T22:13:20Z", "{host}");
            assert_eq!(build(&host, "go=", options).0, id, "{host}");
        }
    }
}
