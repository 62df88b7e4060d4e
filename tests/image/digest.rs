//! SOURCE_DATE_EPOCH: one tree, one digest.

use super::Copy;
use crate::engine::{docker, hosts};
use crate::harness::TestEnv;

/// Builds the same project in another directory, with other times of its files; returns the ID and what was said.
fn build(host: &str, name: &str, options: &str) -> (String, String) {
    let project = Copy::of("hello");
    let env = TestEnv::inside(project.directory.path());
    let env = env.variable("DOCKER_HOST", host).variable("SOURCE_DATE_EPOCH", "1700000000");
    let built = env.run(&format!("build --no-pull -t {name} {options}"));
    assert_eq!(built.code, 0, "{}", built.err);
    let format = "{{.Id}} {{.Created}}";
    let shown = docker(host, &["image", "inspect", "-f", format, name]);
    docker(host, &["rmi", "-f", name]);
    let (id, created) = shown.trim().split_once(' ').unwrap();
    assert_eq!(created, "2023-11-14T22:13:20Z", "{host}");
    (id.to_owned(), built.err)
}

/// Docker's own image store keeps the times of files, which a warning says.
#[test]
fn one_tree_has_one_digest_where_the_engine_sets_the_times_of_files() {
    for host in hosts() {
        let sets_times = docker(&host, &["info", "-f", "{{.DriverStatus}}"]).contains("containerd");
        let options = if sets_times { "--no-cache" } else { "" };
        let (id, said) = build(&host, "agentcli-test-digest", options);
        assert_eq!(
            said.contains("warning: SOURCE_DATE_EPOCH sets the time of the image, but not"),
            !sets_times
        );
        if sets_times {
            assert_eq!(build(&host, "agentcli-test-digest", options).0, id, "{host}");
        }
    }
}
